"""Say what the trials of one cell mean together. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from harness.judge.outcomes import Judgement, Outcome

NOT_RUN = "not run yet"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """``pass``, ``fail``, ``flaky``, ``skip`` or ``inconclusive``, over ``trials`` that said something."""

    word: str
    trials: int = 0
    fails: int = 0
    signature: str | None = None
    reason: str | None = None

    @property
    def text(self) -> str:
        """Return the verdict as tables show it: ``fail: hipErrorNoDevice``, ``flaky 3/50: SIGSEGV``."""
        word = f"flaky {self.fails}/{self.trials}" if self.word == "flaky" else self.word
        return f"{word}: {self.signature}" if self.signature else word


def combine(judgements: Sequence[Judgement], *, wanted: int = 1) -> Verdict:
    """Combine judgements; those that are no information are passed over as long as enough others are there."""
    telling = [judgement for judgement in judgements if judgement.outcome.informative]
    bad = [judgement for judgement in telling if judgement.outcome.bad]
    if not telling:
        return _nothing(judgements)
    signature = Counter(judgement.signature for judgement in bad).most_common(1)[0][0] if bad else None
    word = "pass" if not bad else "fail" if len(bad) == len(telling) else "flaky"
    reason = f"{len(telling)} of {wanted} trials so far" if len(telling) < wanted else None
    return Verdict(word=word, trials=len(telling), fails=len(bad), signature=signature, reason=reason)


def _nothing(judgements: Sequence[Judgement]) -> Verdict:
    if not judgements:
        return Verdict(word="inconclusive", reason=NOT_RUN)
    last = judgements[-1]
    word = "skip" if last.outcome is Outcome.SKIP else "inconclusive"
    return Verdict(word=word, reason=last.reason or last.outcome.value)


def under_controls(verdict: Verdict, controls: Sequence[tuple[str, Verdict]]) -> Verdict:
    """Return ``verdict``, or ``inconclusive`` when a control of the same repro in the same place did not pass.

    A control that has not run, or was skipped, takes nothing away: it says nothing.
    """
    for name, control in controls:
        silent = control.word == "skip" or control.reason == NOT_RUN
        if control.word != "pass" and not silent and verdict.word in {"pass", "fail", "flaky"}:
            return Verdict(
                word="inconclusive",
                trials=verdict.trials,
                fails=verdict.fails,
                reason=f"the control {name or 'of this repro'} did not pass ({control.reason or control.text})",
            )
    return verdict
