"""Stand in for other hosts on this machine: an sshd of the test's own, and a TCP port before an engine's socket."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
from pathlib import Path

from harness.run.install import which
from tests.test_run import wait_for

PRIVILEGE_SEPARATION = Path("/run/sshd")  # sshd(8) wants it when root starts it; Debian's service makes it


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Sshd:
    """Debian's sshd on a port of loopback, with keys of its own, whose sessions reach the engine at ``engine``.

    ``bin`` holds an ssh client that has this test's configuration instead of the user's: OpenSSH takes the home from
    passwd, so no variable could lead it elsewhere.
    """

    def __init__(self, root: Path, engine: str) -> None:
        self.root = root
        self.port = free_port()
        self.engine = engine
        self.bin = root / "bin"
        self.process: subprocess.Popen[bytes] | None = None
        self._made = False
        root.mkdir()
        for name in ("host_key", "key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", root / name], check=True)
        (root / "authorized_keys").write_text((root / "key.pub").read_text())
        self.known("127.0.0.1")
        self._write()

    @property
    def host(self) -> str:
        return f"ssh://{self._user()}@127.0.0.1:{self.port}"

    @staticmethod
    def _user() -> str:
        import getpass

        return getpass.getuser()

    def known(self, *names: str) -> None:
        """Let the client know the host key under these names alone."""
        key = " ".join((self.root / "host_key.pub").read_text().split()[:2])
        (self.root / "known_hosts").write_text("".join(f"[{name}]:{self.port} {key}\n" for name in names))

    def _write(self) -> None:
        (self.root / "sshd_config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.root}/host_key\nPidFile {self.root}/pid\n"
            f"AuthorizedKeysFile {self.root}/authorized_keys\nUsePAM no\nStrictModes no\nPasswordAuthentication no\n"
            f"SetEnv DOCKER_HOST={self.engine} PATH={os.environ['PATH']}\n"
        )
        (self.root / "ssh_config").write_text(
            f"Host *\n  IdentityFile {self.root}/key\n  IdentitiesOnly yes\n  IdentityAgent none\n"
            f"  UserKnownHostsFile {self.root}/known_hosts\n  GlobalKnownHostsFile /dev/null\n"
        )
        self.bin.mkdir()
        (self.bin / "ssh").write_text(f'#!/bin/sh\nexec {which("ssh")} -F {self.root}/ssh_config "$@"\n')
        (self.bin / "ssh").chmod(0o755)

    @property
    def path(self) -> str:
        return f"{self.bin}:{os.environ['PATH']}"

    def start(self) -> None:
        if os.geteuid() == 0 and not PRIVILEGE_SEPARATION.exists():
            PRIVILEGE_SEPARATION.mkdir(mode=0o755)
            self._made = True
        sshd = which("sshd")
        assert sshd
        with (self.root / "log").open("ab") as log:
            command = [sshd, "-D", "-e", "-f", str(self.root / "sshd_config")]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        wait_for(lambda: accepts(self.port))

    def kill(self) -> None:
        """End sshd and every connection to it at once."""
        for child in [*descendants(self.process.pid), self.process.pid] if self.process else []:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, 9)
        if self.process:
            self.process.wait()
        self.process = None

    def freeze(self) -> None:
        """Fall silent, as a host without power does: connections stay, and nothing comes through them."""
        assert self.process
        for child in (*descendants(self.process.pid), self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGSTOP)

    def clients(self) -> list[int]:
        """Return the ssh clients that use this test's configuration."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if f"{self.root}/ssh_config".encode() in path.read_bytes():
                    found.append(int(path.parent.name))
        return found

    def close(self) -> None:
        self.kill()
        if self._made:
            PRIVILEGE_SEPARATION.rmdir()
        shutil.rmtree(self.root, ignore_errors=True)


def accepts(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def descendants(pid: int) -> list[int]:
    """Return the children of a process and theirs, the oldest first."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents.setdefault(int(path.read_text().rpartition(")")[2].split()[1]), []).append(int(path.parent.name))
    found = parents.get(pid, [])
    return found + [further for child in found for further in descendants(child)]


class Relay:
    """A port of loopback whose connections go on to an engine's socket."""

    def __init__(self, url: str, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._target = url.removeprefix("unix://")
        self.port = free_port()
        self._ends: list[socket.socket] = []
        self._listener: socket.socket | None = None

    @property
    def host(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._serve, args=(self._listener,), daemon=True).start()

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            try:
                near = self._tls.wrap_socket(near, server_side=True) if self._tls else near
                far.connect(self._target)
            except OSError:
                near.close()
                continue
            self._ends += [near, far]
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=_pass_on, args=(one, other), daemon=True).start()

    def close(self) -> None:
        """End the port and every connection through it."""
        for end in (*([self._listener] if self._listener else []), *self._ends):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._listener, self._ends = None, []


def certificates(folder: Path) -> ssl.SSLContext:
    """Make an authority, a server and a client as https://docs.docker.com/engine/security/protect-access/ does."""
    folder.mkdir()

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    new = ("req", "-newkey", "rsa:2048", "-nodes")
    openssl(*new, "-x509", "-subj", "/CN=ca", "-keyout", "ca-key.pem", "-out", "ca.pem", "-days", "2")
    (folder / "names").write_text("subjectAltName = IP:127.0.0.1\n")
    for name in ("server", "client"):
        openssl(*new, "-subj", f"/CN={name}", "-keyout", f"{name}-key.pem", "-out", f"{name}.csr")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca-key.pem", "-CAcreateserial",
                "-out", f"{name}-cert.pem", "-days", "2", "-extfile", "names")  # fmt: skip
    for old, new_name in (("client-cert.pem", "cert.pem"), ("client-key.pem", "key.pem")):
        (folder / old).rename(folder / new_name)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server-cert.pem", folder / "server-key.pem")
    context.load_verify_locations(folder / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := one.recv(1 << 16):
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)
