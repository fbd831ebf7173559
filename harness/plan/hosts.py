"""Say where the engine of a device is: on another host, by an address, or wherever this machine's rules find one. Pure.

An address becomes words of an ssh(1) command line and names of files, so its parts are held to narrow patterns.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from harness.plan.values import Model

_ADDRESS = re.compile(
    r"(?P<way>ssh|tcp)://"
    r"(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9_.+-]*)@)?"
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])"
    r"(?::(?P<port>[0-9]{1,5}))?/?"
)
_IP = re.compile(r"[0-9.]+|\[.*\]")


@dataclass(frozen=True, kw_only=True)
class Address:
    """The parts of a host's address; ``name`` is without the brackets of an IPv6 address."""

    way: str
    user: str | None
    name: str
    port: int | None


def parse(url: str) -> Address:
    """Return the parts of ``ssh://user@node:port`` or ``tcp://node:port``.

    Raises ValueError, with what to write, for anything else.
    """
    match = _ADDRESS.fullmatch(url)
    if match is None:
        raise ValueError(f"{url!r} names no host: write ssh://user@node, ssh://user@node:port or tcp://node:port")
    way, user, name = match["way"], match["user"], match["name"].strip("[]")
    port = int(match["port"]) if match["port"] else None
    if port is not None and not 0 < port < 1 << 16:
        raise ValueError(f"{url!r}: a port is a number from 1 to 65535")
    if way == "tcp" and (user or port is None):
        raise ValueError(f"{url!r}: tcp://node:port has a port (2376 with TLS) and no user")
    return Address(way=way, user=user, name=name, port=port)


def _checked(url: str) -> str:
    parse(url)
    return url.removesuffix("/")


HostUrl = Annotated[
    str,
    AfterValidator(_checked),
    Field(json_schema_extra={"pattern": r"^(ssh://([^@/]+@)?[^@/]+|tcp://[^@/]+:[0-9]+)/?$"}),
]


class Hosted(Model):
    """What may be on another host."""

    host: HostUrl | None = Field(
        None,
        description="Where its engine is: ssh://user@node[:port] or tcp://node:port; default: the engine of this run.",
    )


def short_names(urls: Iterable[str]) -> dict[str, str]:
    """Return a name for each host as tables show it: as short as tells the hosts apart."""
    addresses = {url: parse(url) for url in dict.fromkeys(urls)}
    named = {url: _short(address.name) for url, address in addresses.items()}
    for longer in (lambda a: a.name, lambda a: f"{a.name}:{a.port or 22}"):
        counts = Counter(named.values())
        named = {url: name if counts[name] == 1 else longer(addresses[url]) for url, name in named.items()}
    counts = Counter(named.values())
    return {url: name if counts[name] == 1 else url for url, name in named.items()}


def _short(name: str) -> str:
    return name if _IP.fullmatch(name) or ":" in name else name.partition(".")[0]


def folder(state: Path, host: str | None) -> Path:
    """Return where facts about the images of a host's engine are kept: image ids mean nothing to another engine."""
    if host is None:
        return state
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", host.partition("//")[2]).strip("-")
    return state / "hosts" / f"{readable}-{hashlib.sha256(host.encode()).hexdigest()[:6]}"
