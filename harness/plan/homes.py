"""Describe how the home directory of a cell is mounted."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from harness.plan.values import Model, Name, Size, kind_alone


class LocalHome(Model):
    """A fresh directory on the engine's local disk."""

    kind: Literal["local"]
    name: Name = "local"


class TmpfsHome(Model):
    """A fresh directory in memory."""

    kind: Literal["tmpfs"]
    name: Name = "tmpfs"
    size: Size = "256m"


_HomeKinds = Annotated[LocalHome | TmpfsHome, Field(discriminator="kind")]
Home = Annotated[_HomeKinds, BeforeValidator(kind_alone, json_schema_input_type=Literal["local", "tmpfs"] | _HomeKinds)]
