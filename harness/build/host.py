"""Collect what builds need from the host they run on: a CA bundle and proxies.

None of it becomes part of an image's identity, of a layer's environment, or of a report.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import ConfigError

# The names that curl, pip, Python and OpenSSL agree on, ours first.
_CA_VARIABLES = ("HARNESS_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
# Docker knows these build arguments without an ARG line and keeps them out of the image's history.
# https://docs.docker.com/reference/dockerfile/#predefined-args
_PROXY_VARIABLES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy")


@dataclass(frozen=True, kw_only=True)
class Host:
    """What a build is handed from outside."""

    ca_bundle: bytes | None = None
    proxies: Mapping[str, str] = field(default_factory=dict)


def from_environment(environment: Mapping[str, str] = os.environ) -> Host:
    """Read the host's settings from the usual variables; raises ConfigError for a CA bundle that cannot be read."""
    proxies = {name: value for name, value in environment.items() if name.lower() in _PROXY_VARIABLES and value}
    for variable in _CA_VARIABLES:
        if path := environment.get(variable):
            try:
                return Host(ca_bundle=Path(path).read_bytes(), proxies=proxies)
            except OSError as error:
                raise ConfigError(f"{variable}={path}: the CA bundle cannot be read: {error.strerror}") from None
    return Host(proxies=proxies)
