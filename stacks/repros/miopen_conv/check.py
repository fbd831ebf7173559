"""Run ./conv with one way around MIOpen's troubles; tell what it wrote below HOME and where else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from repro import BROKEN, repro_metric, repro_observe, repro_signature

TEMPORARY = Path(tempfile.gettempdir())
ELSEWHERE = TEMPORARY / "moved"
MOVED = {"MIOPEN_USER_DB_PATH": str(ELSEWHERE / "db"), "MIOPEN_CUSTOM_CACHE_DIR": str(ELSEWHERE / "cache")}
NO_ASM = {"MIOPEN_DEBUG_GCN_ASM_KERNELS": "0"}
SETTINGS = {
    "as-installed": {},
    "fast-find": {"MIOPEN_FIND_MODE": "2"},
    "no-implicit-gemm": {"MIOPEN_DEBUG_CONV_IMPLICIT_GEMM": "0"},
    "no-implicit-gemm-no-winograd": {"MIOPEN_DEBUG_CONV_IMPLICIT_GEMM": "0", "MIOPEN_DEBUG_CONV_WINOGRAD": "0"},
    "no-asm": NO_ASM,
    "moved": NO_ASM | MOVED,
    "moved-no-comgr-cache": NO_ASM | MOVED | {"AMD_COMGR_CACHE": "0"},
    "home-missing": NO_ASM | {"HOME": "/nowhere"},
    "home-missing-moved": NO_ASM | MOVED | {"HOME": "/nowhere"},
}
MISSING = re.compile(r"Failed to load kernel source: (\w+?)_\S*\.s\b")
# Names of the files without what differs from build to build.
PLAIN = ((re.compile(r"llvmcache-[0-9a-f]{64}"), "llvmcache-…"), (re.compile(r"\d+_\d+_\d+_(?=\.|$)"), "V_"))


def files(folder: Path) -> dict[str, int]:
    """Return every file below a folder with its size; the harness has its own in the temporary folder, with a dot."""
    own = {path for path in TEMPORARY.glob(".*") if path.is_file()}
    return {str(path): path.stat().st_size for path in sorted(folder.rglob("*")) if path.is_file() and path not in own}


def plain(path: str) -> str:
    """Return a path without hashes and versions."""
    for pattern, text in PLAIN:
        path = pattern.sub(text, path)
    return path


def report(name: str, found: dict[str, int]) -> None:
    """Report files: their names where the harness shows them, their number and size as metrics."""
    repro_observe(name, ", ".join(dict.fromkeys(map(plain, found))) or "nothing")
    repro_metric(f"{name}: files", len(found), "")
    repro_metric(f"{name}: size", sum(found.values()) / 1024, "KiB")


def status(code: int) -> int:
    """Return a child's exit status as a shell has it: 139 for SIGSEGV."""
    return 128 - code if code < 0 else code


def main(arguments: list[str]) -> int:
    """Return the exit status."""
    if len(arguments) != 2 or arguments[0] not in SETTINGS:
        print(f"usage: check.py {'|'.join(SETTINGS)} OUTPUT_CHANNELS", file=sys.stderr)
        return BROKEN
    setting, channels = arguments
    home = Path(os.environ["HOME"])
    before = files(home) | files(TEMPORARY)
    ran = subprocess.run(
        ["./conv", channels], env=os.environ | SETTINGS[setting], stderr=subprocess.PIPE, text=True, check=False
    )
    sys.stderr.write(ran.stderr)
    below_home = {path: size for path, size in files(home).items() if path not in before}
    report("written below HOME", below_home)
    report("written in /tmp", {path: size for path, size in files(TEMPORARY).items() if path not in before})
    if missing := MISSING.search(ran.stderr):
        repro_signature(f"Failed to load kernel source: {missing[1]}_….s")
    elif ran.returncode == 0 and setting.startswith("moved") and below_home:
        folders = {"/".join(Path(path).relative_to(home).parts[:2]) for path in below_home}
        repro_signature(f"files below HOME all the same: {', '.join(sorted(folders))}")
        return 1
    return status(ran.returncode)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
