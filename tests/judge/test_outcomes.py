from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judge.outcomes import Judgement, Outcome, judge, read_events
from harness.judge.verdicts import Verdict, combine, under_controls
from harness.run.trials import Output, Trial


def trial(status: int = 0, err: str = "", out: str = "", **extra: object) -> Trial:
    values = {"number": 1, "limit": 10.0, "duration": 0.1, **extra}
    return Trial(
        status=status,
        stderr=Output(head=err.encode()),
        stdout=Output(head=out.encode()),
        **values,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("given", "outcome", "signature"),
    [
        (trial(0), Outcome.PASS, None),
        (trial(0, "hipErrorNoDevice"), Outcome.PASS, None),
        (trial(1), Outcome.FAIL, "exit status 1"),
        (trial(1, "hipErrorNoDevice"), Outcome.FAIL, "hipErrorNoDevice"),
        (trial(77, "no kernels here"), Outcome.SKIP, None),
        (trial(99, "no space"), Outcome.INFRA, None),
        (trial(139), Outcome.CRASH, "SIGSEGV"),
        (trial(134, "Assertion `a' failed"), Outcome.CRASH, "assertion: a"),
        (trial(124, duration=10.2), Outcome.TIMEOUT, "no end within 10 s"),
        (trial(137, duration=12.1), Outcome.TIMEOUT, "no end within 10 s"),
        (trial(124), Outcome.FAIL, "exit status 124"),
        (trial(137), Outcome.CRASH, "SIGKILL"),
        (trial(255), Outcome.FAIL, "exit status 255"),
        (trial(231, "hipErrorNoDevice"), Outcome.FAIL, "hipErrorNoDevice"),
        (trial(137, oom=True), Outcome.OOM, "out of memory"),
        (trial(1, oom=True), Outcome.OOM, "out of memory"),
        (trial(127, "error while loading shared libraries: libx.so.1: c"), Outcome.FAIL, "missing library: libx.so.1"),
        (trial(127, "sh: a: not found"), Outcome.INFRA, None),
        (trial(126, "timeout: failed to run command 'a': Permission denied"), Outcome.INFRA, None),
        (trial(1, "write: No space left on device"), Outcome.INFRA, None),
        (trial(99, "main.hip:1:1: error: no", build=1), Outcome.BUILD_ERROR, "error: no"),
        (trial(0, vanished=True), Outcome.INFRA, None),
    ],
)  # fmt: skip
def test_a_trial_of_a_program_is_judged(given: Trial, outcome: Outcome, signature: str | None) -> None:
    found = judge(given, build_is_experiment=False)
    assert (found.outcome, found.signature) == (outcome, signature)
    assert outcome.informative or found.reason


@pytest.mark.parametrize(
    ("given", "outcome", "signature"),
    [
        (trial(0), Outcome.PASS, None),
        (trial(1, "a.hip:1:1: error: gone", build=1), Outcome.FAIL, "error: gone"),
        (trial(1, "ld.lld: error: undefined symbol: f", build=1), Outcome.FAIL, "undefined symbol: f"),
        (trial(1, "the build timed out", build=124), Outcome.FAIL, "the build timed out"),
        (trial(99, "", build=137), Outcome.INFRA, None),
        (trial(1, "No space left on device", build=1), Outcome.INFRA, None),
        (trial(1, "clang: error: unable to execute command: Killed", build=1), Outcome.INFRA, None),
    ],
)
def test_a_build_that_is_the_experiment_is_judged(given: Trial, outcome: Outcome, signature: str | None) -> None:
    found = judge(given, build_is_experiment=True)
    assert (found.outcome, found.signature) == (outcome, signature)


def test_a_repro_may_name_its_failure_and_report_what_it_saw() -> None:
    lines = [
        {"observe": {"rc": "hipErrorX"}},
        {"metric": {"name": "t", "value": 14.8, "unit": "us"}},
        {"signature": "my failure at 0x7f00"},
    ]
    events = "\n".join(json.dumps(line) for line in lines) + '\nnot json\n[1]\n{"metric": {"name": 1}}\n'
    found = judge(trial(1, "hipErrorOther", events=events), build_is_experiment=False)
    assert found.signature == "my failure at 0x…"
    assert found.observations == {"rc": "hipErrorX"}
    assert [(metric.name, metric.value, metric.unit) for metric in found.metrics] == [("t", 14.8, "us")]


@given(st.text(max_size=300))
def test_any_events_can_be_read(text: str) -> None:
    assert read_events(text).metrics == () or "metric" in text
    assert read_events("[" * 100_000 + text.replace("\n", " ")) == read_events("")


def test_events_that_no_record_could_carry_are_passed_over() -> None:
    lines = [
        '{"metric": {"name": "a", "value": 1' + "0" * 400 + "}}",
        '{"metric": {"name": "b", "value": NaN}}',
        '{"metric": {"name": "c", "value": 1e999}}',
        '{"observe": {"x": "\\ud800"}}',
        '{"observe": {"y": ' + "[" * 400 + "]" * 400 + "}}",
        '{"metric": {"name": "good", "value": 1}}',
    ]
    found = judge(trial(0, events="\n".join(lines)), build_is_experiment=False)
    assert [metric.name for metric in found.metrics] == ["good"]
    assert found.observations == {}


OUTCOMES = st.builds(
    lambda outcome: Judgement(outcome=outcome, signature="s" if outcome.bad else None, reason="r"),
    st.sampled_from(list(Outcome)),
)


@given(st.lists(OUTCOMES, max_size=12))
def test_what_is_no_information_never_changes_a_verdict(judgements: list[Judgement]) -> None:
    telling = [judgement for judgement in judgements if judgement.outcome.informative]
    with_noise, without = combine(judgements), combine(telling)
    if telling:
        assert with_noise == without
        bad = sum(judgement.outcome.bad for judgement in telling)
        assert (with_noise.trials, with_noise.fails) == (len(telling), bad)
        assert with_noise.word == ("pass" if bad == 0 else "fail" if bad == len(telling) else "flaky")
    else:
        assert with_noise.word in {"skip", "inconclusive"}
        assert with_noise.reason


def test_a_control_that_fails_makes_its_siblings_inconclusive() -> None:
    failed, passed = Verdict(word="fail", signature="s"), Verdict(word="pass")
    assert under_controls(failed, [("c", passed)]) == failed
    assert under_controls(passed, [("x=1", failed)]).word == "inconclusive"
    assert "x=1" in (under_controls(passed, [("x=1", failed)]).reason or "")
    assert under_controls(passed, [("c", combine([]))]) == passed  # not run yet
    assert under_controls(passed, [("c", Verdict(word="inconclusive", reason="no disk"))]).word == "inconclusive"
    assert under_controls(Verdict(word="skip"), [("c", failed)]).word == "skip"


@pytest.mark.parametrize(
    ("verdict", "text"),
    [
        (Verdict(word="pass"), "pass"),
        (Verdict(word="fail", signature="SIGSEGV"), "fail: SIGSEGV"),
        (Verdict(word="flaky", trials=50, fails=3, signature="x"), "flaky 3/50: x"),
    ],
)
def test_verdicts_read_as_tables_show_them(verdict: Verdict, text: str) -> None:
    assert verdict.text == text


@pytest.mark.parametrize(
    ("status", "printed", "outcome", "kind"),
    [
        (1, "Unable to open /dev/kfd read-write: Permission denied", Outcome.INFRA, "driver-refused"),
        (1, "hipErrorNoDevice", Outcome.INFRA, "no-device"),
        (1, "RuntimeError: No HIP GPUs are available", Outcome.INFRA, "no-device"),
        (134, '"hipErrorNoBinaryForGpu: Unable to find code object for all current devices!"', Outcome.SKIP,
         "gfx-unsupported"),
        (134, "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: No such file or directory "
              "for GPU arch : gfx1036", Outcome.SKIP, "gfx-unsupported"),
    ],
)  # fmt: skip
def test_what_stands_between_a_program_and_its_gpu_is_no_bug(
    status: int, printed: str, outcome: Outcome, kind: str
) -> None:
    on_gpu = judge(trial(status, printed), build_is_experiment=False, hardware=True)
    assert (on_gpu.outcome, on_gpu.signature) == (outcome, None)
    assert (on_gpu.reason or "").startswith(f"{kind}: ")
    # Without a GPU it is what the repro says of the runtime, and so it is where the repro is about just that.
    for other in (
        judge(trial(status, printed), build_is_experiment=False),
        judge(trial(status, printed), build_is_experiment=False, hardware=True, about=[kind]),
        judge(trial(status, printed, events='{"signature": "mine"}'), build_is_experiment=False, hardware=True),
    ):
        assert other.outcome in {Outcome.FAIL, Outcome.CRASH}


def test_a_gpu_does_not_excuse_a_bug() -> None:
    found = judge(trial(1, "hipErrorInvalidValue"), build_is_experiment=False, hardware=True)
    assert (found.outcome, found.signature) == (Outcome.FAIL, "hipErrorInvalidValue")
