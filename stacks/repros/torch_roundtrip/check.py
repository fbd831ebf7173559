"""Run work.py with the troubles of the packages stepped around one after the other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from repro import BROKEN, repro_signature

STEPS = ("nothing", "loader", "llvm", "hiprtc", "asm")  # each includes those before it
TORCH = Path("/usr/lib/python3/dist-packages/torch/lib")
NVRTC = "libcaffe2_nvrtc.so"
HIP = "libamdhip64.so"  # without a version it is in the package for developers only
SIGNATURES = (
    re.compile(r"libcaffe2_nvrtc\.so: cannot open shared object file"),
    re.compile(r"no targets are registered"),
    re.compile(r"hip runtime failed to load"),
    re.compile(r"Failed to load kernel source"),
    re.compile(r"(?<=wrong: ).*"),
    re.compile(r"(?:Runtime|Accelerator)Error: .*"),
)


def status(code: int) -> int:
    """Return a child's exit status as a shell has it: 139 for SIGSEGV."""
    return 128 - code if code < 0 else code


def main(arguments: list[str]) -> int:
    """Return the exit status."""
    if len(arguments) != 2 or arguments[0] not in STEPS:
        print(f"usage: check.py {'|'.join(STEPS)} available|round-trip|convN", file=sys.stderr)
        return BROKEN
    step = STEPS.index(arguments[0])
    variables = dict(os.environ)
    variables.setdefault("AMD_LOG_LEVEL", "1")  # HIP's own errors: what the compiler said
    with tempfile.TemporaryDirectory() as folder:
        if step >= STEPS.index("loader"):
            (Path(folder) / NVRTC).symlink_to(TORCH / NVRTC)
            paths = [path for path in (os.environ.get("LD_LIBRARY_PATH"), folder) if path]
            variables["LD_LIBRARY_PATH"] = ":".join(paths)
        if step >= STEPS.index("llvm"):
            variables["LD_PRELOAD"] = "libamd_comgr.so.3"
        if step >= STEPS.index("hiprtc"):
            (Path(folder) / HIP).symlink_to(f"/usr/lib/x86_64-linux-gnu/{HIP}.7")
        if step >= STEPS.index("asm"):
            variables["MIOPEN_DEBUG_GCN_ASM_KERNELS"] = "0"
        ran = subprocess.run(
            [sys.executable, "work.py", arguments[1]], env=variables, stderr=subprocess.PIPE, text=True, check=False
        )
    sys.stderr.write(ran.stderr)
    if ran.returncode != 0:
        found = next(filter(None, (pattern.search(ran.stderr) for pattern in SIGNATURES)), None)
        repro_signature(found[0] if found else "no known message")
    return status(ran.returncode)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
