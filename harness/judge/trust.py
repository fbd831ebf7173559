"""Read the trust report of the software GPU: on which of its answers could a trial's result rest? Pure.

The format is that of docs/softgpu.md: one JSON object a line, one line for each process of the trial.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from harness.plan.repros import SOFT_ANSWERS

# The words of the report, the topic that a repro can be robust to, and the sentence.
_SOFT = {
    "free memory": ("free-memory", "free memory is the chip's less what this process took"),
    "timings": ("timings", "times are those of the host"),
    "images": ("images", "images are stored row by row"),
    "SVM attributes": ("svm-attributes", "SVM attributes are only remembered"),
    "pointer info of pageable memory": ("pageable-memory", "pageable memory is all known to the GPU"),
    "pageable memory accessed by the GPU": ("pageable-memory", "pageable memory is all known to the GPU"),
}
# Holes, never to be declared away: (key of the report, topic, sentence).
_HOLES = (
    ("stubs", "stubs", "{}: not implemented, so an error was returned"),
    ("unknown_attributes", "unknown-attributes", "attribute {}: not known, so it was refused"),
    ("unknown_blits", "unknown-blits", "HIP's own kernel {}: not known, so it was not emulated"),
)
_MOST_NAMED = 3


class Mark(BaseModel):
    """A reason why real hardware might have given another result; ``topic`` groups, ``text`` says it."""

    model_config = ConfigDict(frozen=True)

    topic: str
    text: str


def read(text: str) -> tuple[list[Mark], list[str]]:
    """Return the marks of all processes of a trial, and the events that their GPU reported (faults, misuse)."""
    found: dict[Mark, None] = {}
    events: dict[str, None] = {}
    for line in text.splitlines():
        report = _object(line)
        found |= dict.fromkeys(_marks(report))
        events |= dict.fromkeys(_counts(report.get("events")))
    return list(found), list(events)


def _object(line: str) -> Mapping[str, Any]:
    try:
        report = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return report if isinstance(report, dict) else {}


def _counts(value: object) -> Counter[str]:
    """Return name and count of what a report lists; a repro could write anything there."""
    if not isinstance(value, dict):
        return Counter()
    return Counter({str(name): count for name, count in value.items() if isinstance(count, int)})


def _marks(report: Mapping[str, Any]) -> list[Mark]:
    if "error" in report:
        return [Mark(topic="stubs", text="its report could not be written whole")]
    marks = []
    for key, topic, sentence in _HOLES:
        if names := list(_counts(report.get(key))):
            rest = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
            marks.append(Mark(topic=topic, text=sentence.format(", ".join(names[:_MOST_NAMED]) + rest)))
    if _counts(report.get("kernels"))["dispatched"]:
        marks.append(Mark(topic="kernels", text="its kernels were completed, not executed"))
    for name in _counts(report.get("soft")):
        topic, text = _SOFT.get(name, (name, name))
        marks.append(Mark(topic=topic, text=text))
    return marks


def remaining(marks: Sequence[Mark], robust_to: Collection[str]) -> list[Mark]:
    """Return the marks that a result may rest on: holes always, soft answers unless the repro is robust to them."""
    return [mark for mark in marks if mark.topic not in SOFT_ANSWERS.intersection(robust_to)]


def sentence(marks: Sequence[Mark]) -> str | None:
    """Return ``software: …`` with every reason, as footnotes have it; None without any."""
    texts = list(dict.fromkeys(mark.text for mark in marks))
    return f"software: {'; '.join(texts)}" if texts else None
