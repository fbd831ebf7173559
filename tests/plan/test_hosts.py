from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.plan.hosts import Address, folder, parse, short_names
from tests.conftest import PLAIN, Write, harness, repro_text

ADDRESSES = {
    "ssh://node": Address(way="ssh", user=None, name="node", port=None),
    "ssh://me@gpu-1.example.com:2222": Address(way="ssh", user="me", name="gpu-1.example.com", port=2222),
    "ssh://me@[2001:db8::1]:22/": Address(way="ssh", user="me", name="2001:db8::1", port=22),
    "tcp://10.0.0.7:2376": Address(way="tcp", user=None, name="10.0.0.7", port=2376),
}
# Words of an ssh command line come from these: none may become an option, or a command.
NO_ADDRESSES = (
    "", "node", "unix:///x.sock", "http://node:1", "ssh://", "ssh://-oProxyCommand=x", "ssh://-l@node", "ssh://a b",
    "ssh://node/path", "ssh://node:0", "ssh://node:65536", "ssh://node;id", "ssh://$(id)", "ssh://me@@node",
    "tcp://node", "tcp://me@node:1", "ssh://node\n",
)  # fmt: skip


@pytest.mark.parametrize("url", ADDRESSES)
def test_addresses(url: str) -> None:
    assert parse(url) == ADDRESSES[url]


@pytest.mark.parametrize("url", NO_ADDRESSES)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"names no host|port"):
        parse(url)


def test_the_place_of_a_wrong_host_is_told(project: Write) -> None:
    matrix = project(
        matrix=f"images: [{PLAIN}]\ndevices:\n  - {{kind: auto, host: node2}}\n", repros={"r": repro_text("true")}
    )
    done = harness(matrix, "plan")
    assert done.status == 2
    assert "matrix.yaml:3:24: devices[0].host: 'node2' names no host: write ssh://user@node" in done.err


@pytest.mark.parametrize(
    ("hosts", "names"),
    [
        (["ssh://me@node1.example.com", "tcp://node2.example.com:2376"], ["node1", "node2"]),
        (["ssh://node1.a.example", "ssh://node1.b.example"], ["node1.a.example", "node1.b.example"]),
        (["ssh://127.0.0.1:2201", "tcp://127.0.0.1:2375"], ["127.0.0.1:2201", "127.0.0.1:2375"]),
        (["ssh://me@node", "ssh://you@node"], ["ssh://me@node", "ssh://you@node"]),
        (["ssh://[::1]:1", "ssh://10.1.2.3"], ["::1", "10.1.2.3"]),
    ],
)
def test_hosts_are_named_as_shortly_as_tells_them_apart(hosts: list[str], names: list[str]) -> None:
    assert short_names(hosts) == dict(zip(hosts, names, strict=True))


def test_every_host_has_a_folder_of_its_own() -> None:
    state = Path(".harness")
    urls = ["ssh://me@node", "ssh://me-node", "tcp://me.node:1", "ssh://[::1]"]
    folders = {folder(state, url) for url in urls}
    assert len(folders) == 4
    assert all(path.parent == state / "hosts" for path in folders)
    assert folder(state, None) == state


def test_a_plan_names_hosts_where_there_are_several_and_asks_none(project: Write) -> None:
    text = (
        f"images: [{PLAIN}]\n"
        "devices:\n"
        "  - auto\n"
        "  - {kind: gpu, name: mi300, host: ssh://me@node1.invalid}\n"
        "  - {kind: software, name: soft, host: tcp://node2.invalid:2376}\n"
    )
    matrix = project(matrix=text + "repros: [r]\n", repros={"r": repro_text("true", needs="[hardware]")})
    done = harness(matrix, "plan", seconds=60)
    assert done.status == 0, done.err
    assert done.out.splitlines()[1:3] == [
        "r / plain / mi300 / local: to build, then 1 to run (ssh://me@node1.invalid was not looked at yet)",
        "r / plain / soft / local: skip: needs hardware; device software gfx90a @ node2 does not offer it",
    ]


def test_the_matrix_of_the_documentation_can_be_planned(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/hosts.md").read_text()
    (text,) = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "matrix.yaml").write_text(text)
    done = harness(tmp_path / "matrix.yaml", "plan", seconds=60)
    assert done.status == 0, done.err
    assert " / mi210 / local: to build" in done.out
