"""One thing that the doctor looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "error"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was looked at, how it is, and the command or the change that mends it, when there is one.

    An error keeps runs from working; a warning is worth knowing, or costs some cells their answer.
    """

    what: str
    state: State
    detail: str
    mend: str = ""
