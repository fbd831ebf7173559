"""Hold every value of the plan to a narrow pattern, so that nothing a user writes can be more than a value later.

Names become image names, words become command lines, sizes become mount options.
"""

from __future__ import annotations

from typing import Annotated, Protocol

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError

# Names become part of image names, so what Docker allows there is what is allowed here:
# https://github.com/distribution/reference/blob/main/reference.go (path-component)
NAME_PATTERN = r"^[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*$"
LONGEST_NAME = 63
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN, max_length=LONGEST_NAME)]
# https://www.debian.org/doc/debian-policy/ch-controlfields.html#source (package names), optionally "=version".
Package = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9+.-]+(=[A-Za-z0-9.+:~-]+)?$")]
# https://packaging.python.org/en/latest/specifications/dependency-specifiers/, without markers and addresses.
Requirement = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,._-]+\])?([=<>!~][A-Za-z0-9.*+!,=<>~-]+)?$"),
]
Suite = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9./-]*$")]
Url = Annotated[str, StringConstraints(pattern=r"^(https?|file)://[A-Za-z0-9._~:/?#@!&*+,;=%\[\]-]+$")]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Size = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]*[kmgt]$")]
Scalar = str | bool | int | Annotated[float, Field(allow_inf_nan=False)]


def _one_word(value: object) -> object:
    """Refuse what no program can be given as a word: execve(2) takes no NUL and at most 128 KiB in one."""
    if isinstance(value, str) and ("\0" in value or len(value) > LONGEST_WORD):
        raise ValueError(f"a NUL byte, or more than {LONGEST_WORD:,} characters, cannot be handed to a program")
    return value


LONGEST_WORD = 100_000
Value = Annotated[Scalar, BeforeValidator(_one_word)]


def typed(value: object) -> tuple[str, object]:
    """Return what tells values apart: 1, 1.0, true and "1" are equal or alike in places, but different words."""
    return type(value).__name__, value


def _all_different(values: tuple[Value, ...]) -> tuple[Value, ...]:
    for value in values:
        if [typed(other) for other in values].count(typed(value)) > 1:
            raise ValueError(f"{value!r} is listed more than once")
    return values


Params = dict[Variable, Annotated[tuple[Value, ...], Field(min_length=1), AfterValidator(_all_different)]]


def misplaced(at: tuple[int | str, ...], message: str) -> PydanticCustomError:
    """Return an error for a place below the one that is being validated; the loader finds its line."""
    return PydanticCustomError("misplaced", "{message}", {"message": message, "at": at})


class Named(Protocol):
    """What has a name: the members of an axis."""

    @property
    def name(self) -> str:
        """Return the name."""


class Model(BaseModel):
    """Refuse unknown keys and later changes, in every model of the plan."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def kind_alone(value: object) -> object:
    """Let ``none`` stand for ``{kind: none}``: most devices and homes need no more than their kind."""
    return {"kind": value} if isinstance(value, str) else value
