"""Turn what ssh or the far docker command complained of into one sentence with what mends it. Pure.

The first pattern that is found counts, so what is more particular stands first.
"""

from __future__ import annotations

import re

from harness.plan.hosts import parse

_BY_HAND = "connect once by hand and compare the key that it shows: `{ssh}`"
# The words are those of OpenSSH (sshconnect.c, ssh.c, packet.c) and of the docker command.
_KNOWN = (
    (r"REMOTE HOST IDENTIFICATION HAS CHANGED|POSSIBLE DNS SPOOFING",
     "its key is another one than before. If the node was set up anew: `ssh-keygen -R {known}`, then " + _BY_HAND),
    (r"Host key verification failed|No \S+ host key is known",
     "its host key is unknown here, so " + _BY_HAND + " (or, on a network that you trust, "
     "`ssh-keyscan {keyscan} >> ~/.ssh/known_hosts`)"),
    (r"permission denied while trying to connect|dial unix \S+: connect: permission denied",
     "its user may not use the engine there. On the node: `sudo usermod -aG docker {user}`"),
    (r"Permission denied \(|Too many authentication failures",
     "it lets no key of yours in. Give it one: `ssh-copy-id {target}`, or unlock yours: `ssh-add`; then "
     "`ssh -o BatchMode=yes {target} true` must work"),
    (r"Could not resolve hostname", "its name is not known; is it spelt as in ~/.ssh/config or in the DNS?"),
    (r"Connection refused", "nothing listens there. Is sshd running on the node, and is that its port?"),
    (r"Connection timed out|Operation timed out|No route to host|Network is unreachable|"
     r"[Tt]imeout, server .* not responding|timed out",
     "it does not answer. Is the node up, and is the network between?"),
    (r"Cannot connect to the Docker daemon|dial unix \S+: connect: |docker daemon is not running",
     "no engine runs there. On the node: `sudo systemctl start docker`"),
    (r"not a docker command|unknown command", "its docker command is older than 18.09; a newer docker.io is needed"),
    (r"docker: (?:command )?not found|docker: No such file|command not found: docker",
     "it has no docker command, through which the engine is reached. On the node: `sudo apt-get install docker.io`"),
    (r"closed by remote host|Connection reset|Broken pipe|kex_exchange_identification|closed by",
     "the connection broke. Is the node up?"),
)  # fmt: skip


def explain(host: str, said: str, *, engine: bool = False) -> str:
    """Return one sentence on why ``host`` cannot be reached; ``engine`` when it was the docker command that spoke."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and "mux_client" not in line]
    found = next((mend for pattern, mend in _KNOWN if re.search(pattern, "\n".join(lines))), None)
    last = lines[-1] if lines else ""
    what = "The engine of" if engine else "The host"
    if found is None:
        return f"{what} {host} cannot be reached: {last or 'ssh ended without a word'}."
    sentence = found.format(**_words(host))
    end = "" if sentence.endswith("?") else "."
    return f"{what} {host} cannot be reached: {sentence}{end}" + (f" ({last})" if last else "")


def _words(host: str) -> dict[str, str]:
    address = parse(host)
    port = ("-p", str(address.port)) if address.port else ()
    target = " ".join([*port, f"{address.user}@{address.name}" if address.user else address.name])
    return {
        "target": target,
        "ssh": f"ssh {target}",
        "keyscan": " ".join([*port, address.name]),
        "known": f"'[{address.name}]:{address.port}'" if address.port else address.name,
        "user": address.user or "$USER",
    }
