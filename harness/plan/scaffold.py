"""Start a new reproducer: a folder that runs as it is, to be edited into the bug at hand."""

from __future__ import annotations

import re
from pathlib import Path

from harness.errors import ConfigError
from harness.plan.repros import BUILTIN
from harness.plan.values import LONGEST_NAME, NAME_PATTERN

REPRO = """\
title: What goes wrong, in one line
references:
  - https://github.com/ROCm/ROCm/issues  # the issue or document that says so; at least one
what_to_do: What a user should do about it, in one sentence.
# affected: ">=6.0"        # ROCm versions that the references say fail; a difference becomes a footnote
needs: [compiler]          # device, hardware, kernels, xnack, torch, ...; a cell that lacks one is skipped
build:                     # each line is split into words; no shell runs it. {name} is a parameter.
  - hipcc -I{common} main.hip -o main
run: ./main {call}         # exit status 0 pass, 77 skip, 99 environment broken, any other fail
params:
  call: [suspect, control]
controls:                  # cases that must pass everywhere; when one does not, the others are inconclusive
  - call: control
trials: 1
timeout: 60                # seconds for each trial and each build
"""

MAIN = """\
// What this shows, in one line. Source: the URL in repro.yaml.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>

#include "repro.h"

int main(int argc, char** argv) {
    const bool control = argc > 1 && std::strcmp(argv[1], "control") == 0;
    int version = 0;
    const hipError_t error = control ? hipSuccess : hipRuntimeGetVersion(&version);
    repro_observe("error", hipGetErrorName(error));
    std::printf("%s, HIP runtime %d\\n", hipGetErrorName(error), version);
    return error == hipSuccess ? 0 : 1;
}
"""


def scaffold(project: Path, name: str) -> Path:
    """Write ``repros/NAME`` and return its path.

    Raises ConfigError for a name that cannot be one, and when the folder is there already.
    """
    if not re.fullmatch(NAME_PATTERN, name) or len(name) > LONGEST_NAME:
        raise ConfigError(f"{name!r} cannot name a repro: use lower-case letters, digits, '.', '_' and '-'")
    folder = project / "repros" / name
    if (folder / "repro.yaml").exists():
        raise ConfigError(f"{folder} is there already; nothing was changed")
    if (BUILTIN / name).exists() and folder.parent.resolve() != BUILTIN:
        raise ConfigError(f"{name!r} is a built-in repro, which yours would hide; choose another name")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "repro.yaml").write_text(REPRO)
    if not (folder / "main.hip").exists():
        (folder / "main.hip").write_text(MAIN)
    return folder
