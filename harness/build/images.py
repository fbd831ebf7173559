"""Build images from contexts, reuse those that are there, and remember what they are.

Tags carry the hash of the spec, so an image that another checkout on this engine built is found and reused too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock
from pydantic import BaseModel

from harness.build.builder import LABEL_BUILT_FOR, LABEL_SPEC, Builder, BuildError
from harness.build.context import Context
from harness.build.host import Host
from harness.build.probe import SCRIPT, Probe
from harness.build.probe import read as read_probe
from harness.build.state import read_state, write_state
from harness.errors import ConfigError, HarnessError, InfraError

PROBE_TIMEOUT = 120.0


class Built(BaseModel):
    """An image that was built for a spec; ``probe`` is filled in for ROCm images, not for cells."""

    spec_hash: str
    tag: str
    image_id: str
    probe: Probe | None = None


@dataclass(frozen=True, kw_only=True)
class Workshop:
    """Where images are built: the engine, the project's state folder, and what the host lends to builds."""

    engine: Builder
    state: Path
    host: Host
    project: str

    def ensure(
        self, name: str, context: Context, progress: Callable[[str], None], *, look_inside: bool
    ) -> tuple[Built, bool]:
        """Return the image of ``context``, and whether it was built now: its spec changed, or the engine lost it.

        Raises ConfigError for what the matrix asked wrongly, InfraError for trouble of network, disk or engine.
        """
        locks = self.state / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        # Two harness processes may want the same image at once: the second finds what the first has built.
        with FileLock(locks / f"{name}.lock"):
            return self._ensure(name, context, progress, look_inside=look_inside)

    def _ensure(
        self, name: str, context: Context, progress: Callable[[str], None], *, look_inside: bool
    ) -> tuple[Built, bool]:
        context.write(self.state / "images" / name, self.state / "tmp")
        built = remembered(self.state, name, context)
        image_id = self.engine.image_id(context.tag)
        made_now = image_id is None
        if built is None or built.image_id != image_id:
            if image_id is None:
                image_id = self._build(name, context, progress)
            built = Built(spec_hash=context.spec_hash, tag=context.tag, image_id=image_id)
        if look_inside and built.probe is None:
            progress("looking inside")
            printed = self.engine.output(built.image_id, SCRIPT, timeout=PROBE_TIMEOUT)
            built = built.model_copy(update={"probe": read_probe(printed)})
        write_state(_record(self.state, name), built)
        return built, made_now

    def _build(self, name: str, context: Context, progress: Callable[[str], None]) -> str:
        log = self.state / "logs" / "build" / f"{name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        labels = {LABEL_SPEC: context.spec_hash, LABEL_BUILT_FOR: self.project}
        with log.open("w") as lines:

            def keep(text: str) -> None:
                lines.write(text)
                progress(text)

            try:
                folder = self.state / "images" / name
                return self.engine.build(folder, context.tag, labels=labels, arguments=self.host.proxies, progress=keep)
            except BuildError as error:
                lines.write(f"\n{error.message}\n")
                raise explain(name, error, log) from None


def remembered(state: Path, name: str, context: Context) -> Built | None:
    """Return what is known of the image of ``context`` without asking the engine."""
    built = read_state(_record(state, name), Built)
    return built if built is not None and built.spec_hash == context.spec_hash else None


def _record(state: Path, name: str) -> Path:
    return state / "built" / f"{name}.json"


_MISSING = re.compile(r"E: (?:Unable to locate package|Version .* for|Package) '?([^\s']+)'?")
_REASONS = (
    (re.compile(r"[Nn]o space left on device"), "the disk is full; `docker system df` shows by what"),
    (re.compile(r"Could not resolve|Temporary failure resolving|Could not connect|Connection (?:refused|timed out)|"
                r"Network is unreachable|Unable to connect"),
     "the package mirror cannot be reached; is there a network, a proxy to set (http_proxy), or another `mirror:`?"),
    (re.compile(r"Release file .* is (?:not valid|expired)|not valid anymore"),
     "the suite's lists are past their date; `check_valid_until: false` accepts them"),
    (re.compile(r"NO_PUBKEY|is not signed"), "the suite's signature cannot be checked; see `keyring:` and `mirror:`"),
)  # fmt: skip


def explain(name: str, error: BuildError, log: Path) -> HarnessError:
    """Turn a failed build into one sentence: what a matrix asked wrongly, or what the host could not give."""
    text = f"{error.log}\n{error.message}"
    # From the project's state folder on: .harness/logs/… here, .harness/hosts/… for the engine of another host.
    shown = Path(*log.parts[-6 if log.parts[-5] == "hosts" else -4 :])
    for pattern, reason in _REASONS:
        if pattern.search(text):
            return InfraError(f"The image {name} could not be built: {reason}. The whole log is {shown}.")
    if match := _MISSING.search(text):
        return ConfigError(
            f"The image {name} could not be built: its suites have no package {match.group(1)!r} "
            f"(in that version); see `packages:` in the matrix or the repro. The whole log is {shown}."
        )
    lines = [line for line in text.splitlines() if line.strip()]
    return InfraError(f"The image {name} could not be built: {' / '.join(lines[-3:])}. The whole log is {shown}.")
