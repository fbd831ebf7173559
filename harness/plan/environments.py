"""Describe named sets of variables: one axis of the matrix."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from harness.plan.values import LONGEST_NAME, Model, Name, Variable

UNSET = "unset"  # as a value: the variable is not there, also where the repro, the device or the image sets it


def _single_line(value: str) -> str:
    if "\0" in value:
        raise ValueError("holds a NUL byte, which no environment can carry")
    return value


Text = Annotated[str, AfterValidator(_single_line)]


class Environment(Model):
    """A named set of variables; ``vary`` stands for one such set for each combination of its values."""

    name: Name
    variables: dict[Variable, Text] = Field(default_factory=dict, description="The text unset takes a variable away.")
    vary: dict[Variable, Annotated[tuple[Text, ...], Field(min_length=1)]] = Field(
        default_factory=dict, description="Values to try, such as HSA_XNACK: ['0', '1', unset]."
    )

    @model_validator(mode="after")
    def _said_once(self) -> Environment:
        if twice := sorted(set(self.variables) & set(self.vary)):
            raise ValueError(f"{', '.join(twice)} is in `variables` and in `vary`; say it once")
        return self

    def each(self) -> tuple[Environment, ...]:
        """Return the sets that this one stands for, each named after its values: xnack-0, xnack-1."""
        if not self.vary:
            return (self,)
        return tuple(
            Environment(
                name=_named(self.name, values),
                variables={**self.variables, **dict(zip(self.vary, values, strict=True))},
            )
            for values in itertools.product(*self.vary.values())
        )

    def over(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return ``variables`` with those of this set over them."""
        both = {**variables, **self.variables}
        return {name: value for name, value in both.items() if value != UNSET}

    @property
    def removed(self) -> tuple[str, ...]:
        """Return the variables that are to be taken away."""
        return tuple(name for name, value in self.variables.items() if value == UNSET)


def _named(name: str, values: tuple[str, ...]) -> str:
    words = (re.sub(r"[^a-z0-9]+", "-", value.lower()).strip("-") or "empty" for value in values)
    return "-".join([name, *words])[:LONGEST_NAME].rstrip("-")
