"""Describe the devices that cells run on: the GPUs of a host, the software GPU, or none."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from harness.plan.hosts import Hosted
from harness.plan.values import Model, Name, Size, kind_alone

GFX = "gfx90a"  # what the software GPU is unless the matrix says otherwise: the chip with most public reports


class AutoDevice(Hosted):
    """The AMD GPUs of the host when it has any, else the software GPU; nothing for a repro that needs no device."""

    kind: Literal["auto"]
    name: Name = "auto"


class NoDevice(Hosted):
    """No device at all: host code only."""

    kind: Literal["none"]
    name: Name = "none"


class GpuDevice(Hosted):
    """AMD GPUs, passed through: those that match every selector given.

    ``pick`` any: one column, each cell on whichever of them is free; each: a column for every one of them; all: one
    column, each cell on all of them at once.
    """

    kind: Literal["gpu"]
    name: Name = "gpu"
    gfx: Name | None = Field(None, description="Such as gfx90a.")
    model: str | None = Field(None, min_length=2, description="Part of the model's name in `harness devices`.")
    index: int | None = Field(None, ge=0, description="Position in `harness devices`, which is ROCr's order.")
    uuid: str | None = Field(None, pattern=r"^GPU-[0-9a-f]{16}$", description="All partitions of a card share it.")
    render: str | None = Field(None, pattern=r"^renderD[0-9]+$", description="Its node in /dev/dri.")
    pick: Literal["any", "each", "all"] = "any"
    through: Literal["auto", "nodes", "cdi", "runtime"] = Field(
        "auto",
        description="How the engine hands them over: device nodes, CDI, or AMD's runtime. auto: CDI where the engine "
        "has a description of the GPU, else nodes.",
    )

    @property
    def selectors(self) -> dict[str, str | int]:
        """Return what was said of the GPUs that are meant."""
        return self.model_dump(include={"gfx", "model", "index", "uuid", "render"}, exclude_none=True)


class Faults(Model):
    """What the software GPU does wrong on demand; kernels are those of the program, counted from 1 over a process."""

    kernel_us: int | None = Field(None, ge=1, le=60_000_000, description="Each kernel takes so many microseconds.")
    copy_us: int | None = Field(None, ge=1, le=60_000_000, description="Each copy and fill takes so much longer.")
    hang_at: int | None = Field(None, ge=1, description="This kernel never ends.")
    queue_error: str | None = Field(
        None,
        pattern=r"^(HSA_STATUS_[A-Z_]+|0x[0-9a-fA-F]{1,8}|[0-9]{1,10})(@[1-9][0-9]{0,17})?$",
        description="An HSA status that ends the queue at the first kernel, or at the one after @.",
    )
    oom_after: Size | None = Field(None, description="Device memory runs out after so much, HIP's own included.")
    lost_at: int | None = Field(None, ge=1, description="The GPU is reset at this kernel.")


class SoftwareDevice(Hosted):
    """The software GPU: the real HIP runtime on a stand-in for ROCr, the driver and the card. No kernel executes."""

    kind: Literal["software"]
    name: Name = "software"
    gfx: Name = Field(GFX, description="A chip: its gfx name, or a file name or an alias from softgpu/chips.")
    count: int = Field(1, ge=1, le=16, description="How many GPUs.")
    memory: Size | None = Field(None, description="Memory of each GPU; default: as on the chip.")
    xnack: bool | None = Field(None, description="Run with XNACK on or off; default: what HSA_XNACK says.")
    large_bar: bool | None = Field(None, description="Whether the host reaches device memory; default: as on the chip.")
    hmm: bool | None = Field(None, description="False takes the SVM interface away; default: as on the chip.")
    images: bool | None = Field(None, description="False takes image instructions away; default: as on the chip.")
    vmm: bool | None = Field(None, description="False takes the virtual memory interface away.")
    faults: Faults = Faults()


_Kinds = Annotated[AutoDevice | NoDevice | GpuDevice | SoftwareDevice, Field(discriminator="kind")]
Device = Annotated[
    _Kinds,
    BeforeValidator(kind_alone, json_schema_input_type=Literal["auto", "none", "gpu", "software"] | _Kinds),
]
