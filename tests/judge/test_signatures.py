from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judge.signatures import BUILD, INFRA, INFRA_OF_BUILDS, LONGEST, RUN, find, normalise

# Lines as programs print them, with the name they must get; sources are the public issues the facts name.
RUN_LINES = [
    ("hipErrorNoDevice: no ROCm-capable device is detected", "hipErrorNoDevice"),
    ("HIP error 907 at a.cpp:12: hipErrorCapturedEvent", "hipErrorCapturedEvent"),
    (
        "Memory access fault by GPU node-1 (Agent: 0x55d) on address 0x7f. Reason: Page not present or supervisor.",
        "GPU memory access fault: Page not present or supervisor",
    ),
    (
        ":0:rocdevice.cpp :2875: 13 us: Callback: Queue 0x7f aborting with error : "
        "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: The agent attempted to access memory. code: 0x29",
        "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION",
    ),
    ("MIOpen Error: miopenStatusUnknownError", "miopenStatusUnknownError"),
    (
        "./main: error while loading shared libraries: libamdhip64.so.5: cannot open shared object file: No such file",
        "missing library: libamdhip64.so.5",
    ),
    (
        "./main: symbol lookup error: ./main: undefined symbol: hiprtcCreateProgram",
        "undefined symbol: hiprtcCreateProgram",
    ),
    (
        'Traceback (most recent call last):\n  File "/a/b.py", line 3, in <module>\n    x()\n'
        "RuntimeError: HIP out of things",
        "RuntimeError: HIP out of things",
    ),
    ("main: a.c:7: main: Assertion `n == 1' failed.", "assertion: n == 1"),
    ("terminate called after throwing an instance of 'std::runtime_error'", "exception: std::runtime_error"),
    ("all is well, hipSuccess", None),
    ("the type hipError_t is an enum", None),
]
BUILD_LINES = [
    (
        "main.hip:9:12: error: no member named 'memoryType' in 'hipPointerAttribute_t'",
        "error: no member named 'memoryType'",
    ),
    ("main.hip:3:10: fatal error: 'hip/hcc_detail/a.h' file not found", "error: 'hip/hcc_detail/a.h' file not found"),
    (
        "ld.lld: error: undefined symbol: hiprtcCreateProgram\n>>> referenced by",
        "undefined symbol: hiprtcCreateProgram",
    ),
    ("/usr/bin/ld: /tmp/a.o: in function `main': a.c: undefined reference to `f'", "undefined symbol: f"),
    ("/usr/bin/ld: cannot find -lhiprtc: No such file or directory", "missing library: hiprtc"),
    ("ld.lld: error: unable to find library -lhiprtc", "missing library: hiprtc"),
    (
        "main.hip:5:3: error: use of undeclared identifier 'hipErrorX'; did you mean 'hipErrorY'?",
        "error: use of undeclared identifier 'hipErrorX'",
    ),
    (
        "main.hip:11:15: error: static assertion failed due to requirement 'hipMemoryTypeHost == 0': wrong number",
        "error: static assertion failed: 'hipMemoryTypeHost == 0'",
    ),
    (
        "a.hip:4:5: error: use of overloaded operator '*' is ambiguous (with operand types 'A' (aka 'B') and 'A')",
        "error: use of overloaded operator '*' is ambiguous",
    ),
    ("nothing", None),
]


@pytest.mark.parametrize(("text", "name"), RUN_LINES)
def test_failures_of_programs_are_named(text: str, name: str | None) -> None:
    assert find(RUN, text) == name


@pytest.mark.parametrize(("text", "name"), BUILD_LINES)
def test_failures_of_builds_are_named(text: str, name: str | None) -> None:
    assert find(BUILD, text) == name


@pytest.mark.parametrize(
    "text",
    ["cp: write error: No space left on device", "timeout: failed to run command './x': No such file or directory",
     "clang++: error: unable to execute command: Killed"],
)  # fmt: skip
def test_trouble_of_the_host_is_told_from_failures(text: str) -> None:
    assert find(INFRA, text) or find(INFRA_OF_BUILDS, text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("fault at 0x7f12ab in /usr/lib/x/liba.so:12", "fault at 0x55ee00 in /opt/rocm/lib/liba.so:99"),
        ("main.hip:9:12: oops pid 17", "main.hip:10:1: oops pid 18"),
        ("thread 7 died", "thread 8 died"),
    ],
)
def test_what_differs_from_run_to_run_is_no_part_of_a_name(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@given(st.text(max_size=400))
def test_names_are_short_and_stay_what_they_are(text: str) -> None:
    name = normalise(text)
    assert len(name) <= LONGEST
    assert normalise(name) == name


@given(st.text(max_size=500))
def test_any_output_can_be_searched(text: str) -> None:
    for table in (RUN, BUILD, INFRA):
        assert find(table, text) is None or len(find(table, text) or "") <= LONGEST


def test_a_long_log_is_searched_in_no_time() -> None:
    import time

    started = time.monotonic()
    find(RUN, "Traceback (most recent call last):\n" + "x = 1\n" * 200_000)
    find(BUILD, "error" * 200_000)
    assert time.monotonic() - started < 5
