"""Turn a command of a repro into words: split once as a shell would, then fill in parameters word by word.

No shell ever sees the result, so a parameter's value is one word whatever characters it holds.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def words(command: str) -> tuple[str, ...]:
    """Split a command into words with the quoting rules of a shell; raises ValueError for unbalanced quotes."""
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise ValueError(f"cannot split {command!r} into words: {error}") from error


def placeholders(command: Iterable[str]) -> set[str]:
    """Return the names that appear as ``{name}`` in any word."""
    return {match for word in command for match in _PLACEHOLDER.findall(word)}


def fill(command: Iterable[str], values: Mapping[str, object]) -> tuple[str, ...]:
    """Replace every ``{name}`` by its value; a name without a value stays as written (``awk '{print}'``)."""

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        return _text(values[name]) if name in values else match.group(0)

    return tuple(_PLACEHOLDER.sub(value, word) for word in command)


def _text(value: object) -> str:
    """Write a parameter as its YAML author did: true and false in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)
