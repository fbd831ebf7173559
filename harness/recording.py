"""Judge trials as they come in and write each down: the bridge from running to results."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from types import MappingProxyType

from harness.judge import homes
from harness.judge.outcomes import Judgement, Outcome, judge
from harness.judge.verdicts import combine
from harness.plan.homes import RestrictedHome
from harness.results.record import Record, Writer
from harness.run.homes import label
from harness.run.schedule import Job
from harness.run.trials import Trial
from harness.survey import Standing


class Recording:
    """The records of one run; ``standings`` are the cells that run, by key. Called from several threads.

    ``means`` says of a home, by its name, how it is made where it is not what it seems.
    """

    def __init__(
        self,
        run: str,
        writer: Writer,
        standings: Mapping[str, Standing],
        means: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._means = means
        self._run = run
        self._writer = writer
        self._standings = standings
        self._judgements: dict[str, list[Judgement]] = defaultdict(list)

    def report(self, job: Job, trial: Trial) -> bool:
        """Judge and write down a trial; tell whether it says anything, that is, whether it need not be repeated.

        Raises OSError when the record cannot be written.
        """
        spec, home = job.cell.repro.spec, job.cell.home
        judgement = judge(
            trial,
            build_is_experiment=spec.regressed_when == "build",
            hardware=bool(job.gpus),
            about=spec.about,
            full_home=isinstance(home, RestrictedHome) and bool(home.full),
        )
        self._writer.append(self._record(job, trial, judgement))
        self._judgements[job.key].append(judgement)
        return judgement.outcome is not Outcome.INFRA

    def summary(self, job: Job) -> str:
        """Return what the trials of this run say of a cell, in one line."""
        judgements = self._judgements[job.key]
        verdict = combine(judgements)
        text = f"{verdict.text}: {verdict.reason}" if verdict.reason else verdict.text
        return text if len(judgements) == 1 else f"{text} ({len(judgements)} trials)"

    def _record(self, job: Job, trial: Trial, judgement: Judgement) -> Record:
        standing, cell = self._standings[job.key], job.cell
        return Record(
            run=self._run,
            time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            key=job.key,
            repro=cell.repro.name,
            case=dict(cell.case.params),
            control=cell.case.control,
            image=cell.image.name,
            image_id=standing.built.image_id if standing.built else "",
            rocm=standing.rocm,
            device=standing.device.label,
            home=label(cell.home, cell.device.host),
            environment=cell.environment.name,
            trial=trial.number,
            outcome=judgement.outcome,
            signature=judgement.signature,
            reason=judgement.reason,
            status=trial.status,
            duration=trial.duration,
            stdout=trial.stdout.text,
            stderr=trial.stderr.text,
            observations=dict(judgement.observations),
            metrics=tuple(metric.__dict__ for metric in judgement.metrics),
            without_device=standing.without_device,
            software=judgement.marks,
            robust_to=cell.repro.spec.robust_to,
            home_writes=homes.read(trial, means=self._means.get(cell.home.name, "")),
        )
