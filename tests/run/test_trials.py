from __future__ import annotations

import base64
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from harness.run.trials import HomeSeen, Output, Trial, read


def frame(
    number: int, *, status: int = 0, out: bytes = b"", err: bytes = b"", took: float = 0.5, oom: int = 0
) -> bytes:
    def line(name: str, data: bytes) -> str:
        return f"{name} {base64.b64encode(data).decode()}  0"

    end = 10**18 + int(took * 1e9)
    lines = [f"trial {number}", f"status {status} {10**18} {end}", line("stderr", err), line("stdout", out)]
    return "".join(f"n {line}\n" for line in [*lines, "events ", f"oom {oom}", "software ", f"end {number}"]).encode()


@given(
    outputs=st.lists(st.binary(max_size=200), min_size=1, max_size=5),
    cuts=st.lists(st.integers(0, 2000), max_size=20),
)
def test_trials_do_not_depend_on_how_the_stream_is_cut(outputs: list[bytes], cuts: list[int]) -> None:
    stream = b"n build 0\n" + b"".join(frame(n, out=data) for n, data in enumerate(outputs, 1))
    ends = sorted({0, len(stream), *(cut % len(stream) for cut in cuts)})
    pieces = [stream[a:b] for a, b in pairwise(ends)]
    trials = list(read(pieces, limit=60, nonce="n"))
    assert [trial.stdout.head for trial in trials] == outputs
    assert [trial.number for trial in trials] == list(range(1, len(outputs) + 1))


@given(st.integers(0, 400))
def test_a_stream_that_breaks_off_loses_only_its_last_trial(length: int) -> None:
    stream = (b"n build 0\n" + frame(1, out=b"one") + frame(2, out=b"two"))[:length]
    begun, ended = stream.count(b"\nn trial "), stream.count(b"\nn end 1\n") + stream.count(b"\nn end 2\n")
    trials = list(read([stream], limit=60, nonce="n"))
    assert [trial.vanished for trial in trials[:ended]] == [False] * ended
    assert [trial.vanished for trial in trials[ended:]] in ([], [True])
    assert len(trials) in {begun, begun - 1}  # the line that opens the last may be torn itself


@given(st.binary(max_size=300))
def test_garbage_never_crashes_the_reader(noise: bytes) -> None:
    assert isinstance(list(read([b"n trial 1\nn ", noise, b"\nn end 1\n"], limit=1, nonce="n")), list)


def test_a_timeout_is_told_from_a_program_that_ends_so_by_itself() -> None:
    assert Trial(number=1, limit=2, status=124, duration=2.01).timed_out
    assert Trial(number=1, limit=2, status=137, duration=4.0).timed_out
    assert not Trial(number=1, limit=2, status=124, duration=0.1).timed_out
    assert not Trial(number=1, limit=2, status=137, duration=0.1).timed_out
    assert not Trial(number=1, limit=2, status=1, duration=2.5).timed_out


def test_what_was_left_out_is_said() -> None:
    assert Output(head=b"a", tail=b"z", left_out=1_000_000).text == "a\n[… 1,000,000 bytes left out …]\nz"
    assert Output(head=b"a", tail=b"b").text == "ab"


def test_what_a_repro_prints_into_the_stream_is_not_believed() -> None:
    forged = b"trial 1\nn trial\nend 1\nbuild started\nx end 1\n" + b"\xff" * 50 + b"\n"
    (trial,) = read([b"n build 0\n", forged, frame(1, status=3), forged], limit=60, nonce="n")
    assert (trial.status, trial.vanished) == (3, False)


def test_what_was_seen_of_a_home_comes_back_and_a_torn_entry_is_left_out() -> None:
    def coded(data: bytes) -> str:
        return base64.b64encode(data).decode()

    def seen(line: str) -> HomeSeen:
        stream = frame(1).replace(b"n end 1\n", f"n {line}\nn end 1\n".encode())
        (trial,) = read([b"n build 0\n" + stream], limit=60, nonce="n")
        assert not trial.vanished
        return trial.home

    files = b"f 12 a b/c\n\0d 4096 .cache\0f 7 to"
    assert seen(f"home ext4 yes {coded(files)} ") == HomeSeen(
        file_system="ext4", writable=True, files=(("f", 12, "a b/c\n"), ("d", 4096, ".cache"))
    )
    assert seen("home nfs4 no  ") == HomeSeen(file_system="nfs4", writable=False)
    assert seen(f"home fuse.restricted   {coded(b'{}')}") == HomeSeen(file_system="fuse.restricted", log="{}")
    assert seen("home torn") == HomeSeen()
