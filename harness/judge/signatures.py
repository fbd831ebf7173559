"""Name a failure from what a program printed: a table of patterns, first match wins, as data.

Deliberate properties: a name never holds an address, a process id, a path, or a line number, so that the same failure
has the same name on every host and version; a more specific pattern stands before a more general one; what stands for
trouble of the environment (``INFRA``) is looked for before anything is called a failure.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

# Output is searched up to this many characters: a pattern must not make a log of any size slow.
SEARCHED = 600_000
LONGEST = 120


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """A regular expression and the name it gives; ``{0}`` … are its groups."""

    expression: re.Pattern[str]
    name: str


def _rows(*rows: tuple[str, str]) -> tuple[Pattern, ...]:
    return tuple(Pattern(expression=re.compile(expression, re.MULTILINE), name=name) for expression, name in rows)


FULL = "no space left on device"
# Trouble of the host: seen in the output of a repro or of its build, it says nothing about ROCm.
INFRA = _rows(
    (r"No space left on device", FULL),
    (r"^timeout: failed to run command .*: (.+)$", "the command cannot be run: {0}"),
)
INFRA_OF_BUILDS = _rows(
    (r"(?:^|/)(?:clang|g\+\+|c\+\+|cc1plus|ld|ld\.lld|hipcc)\S*: .*(?:Killed|signal 9)", "the compiler was killed"),
    (r"Temporary failure (?:in name resolution|resolving)", "no network"),
)

# What stands between a program and the GPU it was given, and is no bug of either: the first words are the class.
# https://github.com/ROCm/ROCm-docker/issues/116 and /114 (permission), hsakmt's openclose.c (versions of the driver);
# hipErrorNoBinaryForGpu: https://rocm.docs.amd.com/projects/HIP/en/latest/reference/error_codes.html; rocBLAS names the
# chip for which it has no kernels: https://github.com/ROCm/rocBLAS/issues?q=%22Cannot+read%22+TensileLibrary
HARDWARE = _rows(
    (r"Unable to open /dev/kfd read-write: (.+)$", "driver-refused: /dev/kfd: {0}"),
    (r"(?i)(?:kfd|driver|thunk).{0,40}version.{0,40}(?:mismatch|not supported|too old)", "driver-refused: its version"),
    (r"\b(?:hipErrorNoDevice|no ROCm-capable device is detected|No HIP GPUs are available)\b",
     "no-device: the runtime finds none of the GPUs it was given"),
    (r"\bhipErrorNoBinaryForGpu\b", "gfx-unsupported: no code for this GPU in the program (hipErrorNoBinaryForGpu)"),
    (r"Cannot read \S*TensileLibrary\S*: .*?for GPU arch ?: ?(gfx\w+)", "gfx-unsupported: rocBLAS has none of {0}"),
    (r"Unable to find code object for all current devices", "gfx-unsupported: no code for this GPU in the program"),
)  # fmt: skip

# Failures of a running program. Names of HIP errors: hipError_t in hip_runtime_api.h,
# https://rocm.docs.amd.com/projects/HIP/en/latest/reference/error_codes.html
# HSA: hsa_status_t in hsa.h. MIOpen: miopenStatus_t in miopen.h.
RUN = _rows(
    # Several words in different orders: https://github.com/ROCm/ROCm/issues?q=%22Memory+access+fault+by+GPU%22
    (r"Memory access fault by GPU node.*?Reason: ([A-Za-z ]+)", "GPU memory access fault: {0}"),
    (r"Memory access fault by GPU", "GPU memory access fault"),
    (r"HW Exception by GPU node.*?reason ?: ?([A-Za-z ]+)", "GPU exception: {0}"),
    (r"\b(HSA_STATUS_ERROR_[A-Z_]+)\b", "{0}"),
    (r"\b(hsa_status_t|hsa_init)\b.*\b(4[0-9]{3})\b", "HSA status {1}"),
    (r"\b(hipError(?!_t\b)[A-Z][A-Za-z]+)\b", "{0}"),
    (r"\b(miopenStatus(?!Success)[A-Z][A-Za-z]+)\b", "{0}"),
    (r"\b(HIPBLAS_STATUS_(?!SUCCESS)[A-Z_]+)\b", "{0}"),
    (r"error while loading shared libraries: ([^\s:]+):", "missing library: {0}"),
    (r"symbol lookup error: .*undefined symbol: (\w+)", "undefined symbol: {0}"),
    (r"^(\w*Error|\w*Exception|KeyboardInterrupt|SystemExit): OSError: ([^\s:]+): cannot open", "missing library: {1}"),
    (r"OSError: ([^\s:]+): cannot open shared object file", "missing library: {0}"),
    (r"AddressSanitizer: ([a-z-]+)", "AddressSanitizer: {0}"),
    (r"^terminate called after throwing an instance of '(.+)'", "exception: {0}"),
    (r"Assertion `(.+)' failed", "assertion: {0}"),
    # The last line of a Python traceback.
    (r"^Traceback[\s\S]*^([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt)): ?(.*)$", "{0}: {1}"),
    (r"\bstd::bad_alloc\b", "out of memory: std::bad_alloc"),
)

# Failures of a build: clang and gcc, then the linkers.
BUILD = _rows(
    (r"(?:fatal )?error: '([^']+)' file not found", "error: '{0}' file not found"),
    (r"fatal error: ([^\s:]+): No such file or directory", "error: '{0}' file not found"),
    (r"undefined symbol: ([\w:~]+)", "undefined symbol: {0}"),
    (r"undefined reference to [`'\u2018]([^'\u2019]+)['\u2019]", "undefined symbol: {0}"),
    (r"unable to find library -l(\S+)", "missing library: {0}"),
    (r"cannot find -l([^\s:]+)", "missing library: {0}"),
    (r"^(?:\S+?:)?(?:\d+:)*\s*(?:fatal )?error: (.+)$", "error: {0}"),
    (r"^clang(?:\+\+)?(?:-\d+)?: error: (.+)$", "error: {0}"),
    (r"^the build timed out$", "the build timed out"),
)

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{2,}\b")
_PATH = re.compile(r"(?<![\w.])(?:/[\w.+-]+)+/([\w.+-]+)")
_POSITION = re.compile(r"(\.[A-Za-z]+):\d+(?::\d+)?")
_PROCESS = re.compile(r"\b(pid|tid|process|thread)([ =:#]+)\d+", re.IGNORECASE)
_IN_TYPE = re.compile(r"(error: no member named '[^']+') in .*")
_MEANT = re.compile(r"; did you mean .*")
# What clang adds in parentheses, and what the author of an assertion wrote, say nothing that the rest does not.
_DETAIL = re.compile(r" \((?:with operand types|aka) .*")
_STATIC = re.compile(r"static.assert\w*(?: failed)? due to requirement ('[^']+').*")


def normalise(name: str) -> str:
    """Take out of a name what differs from run to run; pure and idempotent."""
    name = "".join(character if character.isprintable() else " " for character in name)
    for expression, by in (
        (_ADDRESS, "0x…"), (_PATH, r"\1"), (_POSITION, r"\1"), (_PROCESS, r"\1\2…"), (_IN_TYPE, r"\1"), (_MEANT, ""),
        (_DETAIL, ""), (_STATIC, r"static assertion failed: \1"),
    ):  # fmt: skip
        name = expression.sub(by, name)
    name = " ".join(name.split())
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def find(patterns: tuple[Pattern, ...], text: str) -> str | None:
    """Return the normalised name that the first matching pattern gives, or None."""
    text = text[:SEARCHED]
    for pattern in patterns:
        if match := pattern.expression.search(text):
            return normalise(pattern.name.format(*match.groups()))
    return None


# Signals that end a program. A shell reports them as 128 + number; other statuses above 128 are the program's own:
# exit(-1) is 255.
_DEADLY = {
    signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGBUS,
    signal.SIGFPE, signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE, signal.SIGALRM, signal.SIGTERM, signal.SIGXCPU,
    signal.SIGXFSZ, signal.SIGSYS,
}  # fmt: skip


def signal_name(status: int) -> str | None:
    """Return the name of the signal that a shell's exit status stands for, ``SIGSEGV`` for 139, or None."""
    return next((deadly.name for deadly in _DEADLY if status == 128 + deadly), None)
