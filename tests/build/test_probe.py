from __future__ import annotations

import pytest

from harness.build.builder import BuildError
from harness.build.images import explain
from harness.build.probe import Probe, lie, mixed, read, rocm_version
from harness.errors import ConfigError, InfraError

# As printed in an image of Debian forky, shortened.
FORKY = """\
os Debian GNU/Linux forky/sid
hip 6.4.43484-9999
compiler Debian clang version 21.1.8 (13)
package hipcc 7.0.2+dfsg-3
package libamdhip64-6 6.4.3-5
package libhsa-runtime64-1 6.4.3+dfsg-5
library libamdhip64.so.6 5d51ad7fb7e6edcc4ac3642839099c32b27a2022 libamdhip64.so.6.4.43484
offers compiler
offers python
nonsense
"""


def test_a_probe_reads_what_was_printed() -> None:
    probe = read(FORKY)
    assert (probe.rocm, probe.hip) == ("6.4.3", "6.4.43484-9999")
    assert probe.offers == {"compiler", "python"}
    assert probe.libraries[0].build_id.startswith("5d51ad")
    assert mixed(probe) == (
        "holds parts of several releases: hipcc 7.0.2, libamdhip64-6 6.4.3, libhsa-runtime64-1 6.4.3"
    )


@pytest.mark.parametrize(
    ("file", "packages", "hip", "version"),
    [
        ("6.2.4-139", {"hip-runtime-amd": "6.2.41133.60204-139"}, "6.2.41133", "6.2.4"),
        ("", {"libamdhip64-7": "7.2.4-1~exp2"}, "7.2.53211-9999", "7.2.4"),
        ("", {"libamdhip64-5": "1:5.7.1-6+deb13u1"}, "", "5.7.1"),
        ("", {}, "7.14.60850", "7.14.60850"),
        ("", {}, "", ""),
        ("garbage", {}, "", ""),
    ],
)
def test_the_best_evidence_for_a_version_wins(file: str, packages: dict[str, str], hip: str, version: str) -> None:
    assert rocm_version(file, packages, hip) == version


@pytest.mark.parametrize(
    ("claimed", "inside", "lies"),
    [("6.4", "6.4.3", False), ("6.4.3", "6.4.3", False), ("6.4.0", "6.4.3", True), ("6", "5.7.1", True),
     ("7.1", "7.14.0", True), (None, "6.4.3", False), ("6.4", "", False)],
)  # fmt: skip
def test_a_tag_that_lies_is_told(claimed: str | None, inside: str, lies: bool) -> None:
    assert (lie(claimed, Probe(rocm=inside)) is not None) is lies


@pytest.mark.parametrize(
    ("log", "kind", "words"),
    [
        ("E: Unable to locate package nonesuch", ConfigError, "no package 'nonesuch'"),
        ("E: Version '9' for 'hipcc' was not found", ConfigError, "no package"),
        (
            "Err:1 … Could not resolve 'mirror.invalid'\nE: Unable to locate package x",
            InfraError,
            "mirror cannot be reached",
        ),
        ("write /a: no space left on device", InfraError, "the disk is full"),
        ("E: Release file for … is not valid anymore", InfraError, "check_valid_until: false"),
        ("something else broke", InfraError, "something else broke"),
    ],
)
def test_a_failed_build_is_explained(log: str, kind: type[Exception], words: str, tmp_path: object) -> None:
    from pathlib import Path

    error = explain("i", BuildError("returned a non-zero code: 100", log), Path("p/.harness/logs/build/i.log"))
    assert type(error) is kind
    assert words in str(error)
    assert "logs/build/i.log" in str(error)
