from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from harness.judge import trust
from harness.judge.trust import Mark

KEYS = st.text() | st.sampled_from(["stubs", "soft", "kernels", "events", "unknown_blits"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda value: st.lists(value) | st.dictionaries(KEYS, value),
    max_leaves=20,
)


def line(**extra: object) -> str:
    empty: dict[str, object] = {key: {} for key in ("stubs", "unknown_attributes", "unknown_blits", "soft", "events")}
    return json.dumps({"softgpu": 1, "pid": 7, **empty, "kernels": {"dispatched": 0, "executed": 0}, **extra}) + "\n"


def topics(text: str) -> set[str]:
    return {mark.topic for mark in trust.read(text)[0]}


def test_a_clean_report_gives_no_mark() -> None:
    assert trust.read(line() + line()) == ([], [])


def test_every_kind_of_answer_gives_its_mark_and_processes_are_put_together() -> None:
    text = (
        line(stubs={"hsa_amd_profiling_x": 2}, soft={"free memory": 1})
        + line(unknown_attributes={"agent:0xbeef": 1}, kernels={"dispatched": 3, "executed": 0})
        + line(unknown_blits={"newBlit": 1}, soft={"free memory": 9, "something new": 1})
    )
    assert topics(text) == {
        "stubs", "free-memory", "unknown-attributes", "kernels", "unknown-blits", "something new",
    }  # fmt: skip
    assert "hsa_amd_profiling_x: not implemented" in str(trust.sentence(trust.read(text)[0]))


def test_what_ended_badly_is_told() -> None:
    events = {"queue error: HSA_STATUS_ERROR_INVALID_ISA": 1}
    assert trust.read(line(events=events)) == ([], ["queue error: HSA_STATUS_ERROR_INVALID_ISA"])


def test_a_repro_is_robust_to_soft_answers_and_never_to_holes() -> None:
    marks = [Mark(topic="kernels", text="a"), Mark(topic="stubs", text="b"), Mark(topic="timings", text="c")]
    assert [mark.text for mark in trust.remaining(marks, ["kernels", "stubs"])] == ["b", "c"]


def test_many_names_are_summed_up() -> None:
    (mark,) = trust.read(line(stubs={f"hsa_{number}": 1 for number in range(40)}))[0]
    assert mark.text == "hsa_0, hsa_1, hsa_2 and 37 more: not implemented, so an error was returned"


@given(ANYTHING)
def test_whatever_a_repro_writes_into_the_report_is_read_without_failing(value: object) -> None:
    marks, events = trust.read(json.dumps(value) + "\nnot json\n{\n" + "[" * 5000)
    assert all(isinstance(mark, Mark) for mark in marks)
    assert all(isinstance(event, str) for event in events)
