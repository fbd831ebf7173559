"""Write what an engine builds from: a Dockerfile and the files beside it, and the hash that names both."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_IGNORED = frozenset({".git", ".hg", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".DS_Store"})
HOST = "host/"  # files of the building host: needed to build here, no part of what the image is


@dataclass(frozen=True, kw_only=True)
class File:
    """One file of a build context."""

    content: bytes
    executable: bool = False


@dataclass(frozen=True, kw_only=True)
class Context:
    """A Dockerfile with its files; ``tag`` is the repository part of the image's name, the hash follows it."""

    name: str
    dockerfile: str
    files: Mapping[str, File]

    @property
    def spec_hash(self) -> str:
        """Hash everything that decides the image: the Dockerfile and the files, without those of the host."""
        ours = {path: file for path, file in self.files.items() if not path.startswith(HOST)}
        return hash_files(ours, self.dockerfile)

    @property
    def tag(self) -> str:
        """Return the image's name with a tag that changes whenever its spec does."""
        return f"{self.name}:{self.spec_hash[:12]}"

    def write(self, folder: Path, scratch: Path) -> None:
        """Write the context to ``folder`` in place of what was there; it is never there half-written.

        ``scratch`` is a folder on the same file system; what a killed process leaves there bears its number.
        """
        for parent in (folder.parent, scratch):
            parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=scratch))
        fresh.chmod(0o755)
        (fresh / "Dockerfile").write_text(self.dockerfile)
        for name, file in self.files.items():
            path = fresh / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.content)
            path.chmod(0o755 if file.executable else 0o644)
        if folder.exists():
            shutil.rmtree(folder)
        fresh.rename(folder)


def hash_files(files: Mapping[str, File], beside: str = "") -> str:
    """Hash files with their names, and a text beside them."""
    digest = hashlib.sha256(beside.encode())
    for path, file in sorted(files.items()):
        digest.update(f"\0{path}\0{file.executable}\0{len(file.content)}\0".encode())
        digest.update(file.content)
    return digest.hexdigest()


def read_tree(root: Path, prefix: str) -> dict[str, File]:
    """Read every file below ``root`` under ``prefix``; what version control and tools keep there is left out."""
    return {
        f"{prefix}{path.relative_to(root).as_posix()}": File(
            content=path.read_bytes(), executable=os.access(path, os.X_OK)
        )
        for path in sorted(root.rglob("*"))
        if path.is_file() and _IGNORED.isdisjoint(path.relative_to(root).parts)
    }
