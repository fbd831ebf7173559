"""Reach an engine behind ssh: every connection to a socket of this machine becomes `docker system dial-stdio` there.

The system's own ssh client is used, so that a user's configuration, agent and known hosts count. One connection to the
host carries all sessions (ControlMaster, ssh_config(5)); where its sshd allows no more sessions on it (MaxSessions),
ssh opens further connections by itself. Nothing ever asks: BatchMode. https://docs.docker.com/engine/security/protect-access/
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from filelock import FileLock, Timeout

from harness.errors import ConfigError, InfraError
from harness.plan.hosts import parse
from harness.run.install import tool_command, which
from harness.run.ssh_trouble import explain

CONNECT_TIMEOUT = 10  # seconds, for the connection; the engine behind it has as many again
_OPTIONS = (
    "-T", "-x", "-a", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_TIMEOUT}", "-o", "ControlPersist=no",
    # A host that lost its power says nothing: without these a read from it would wait for ever.
    "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3", "-o", "ClearAllForwardings=yes",
)  # fmt: skip
_DIAL = "docker system dial-stdio"
_THERE = "rocm-harness-is-there"
_LONGEST_FOLDER = 40  # a socket's path has at most 107 characters, and ssh adds 17 of its own while it makes one
_PREFIX = "rocm-harness-ssh-"
_PATIENCE_AFTER_FAILURE = 5.0
_YOUNG = 60.0  # seconds


class Tunnel:
    """A way to the engine of one host; ``url`` is where it answers on this machine, also after a reconnection."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._folder = _new_folder()
        self._held = FileLock(self._folder / "lock", thread_local=False)
        self._held.acquire()
        self._log = self._folder / "log"
        self._sessions: list[subprocess.Popen[bytes]] = []
        self._master: subprocess.Popen[bytes] | None = None
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self._folder / "engine.sock"))
        self._listener.listen(128)
        self.url = f"unix://{self._folder}/engine.sock"
        threading.Thread(target=self._serve, name="ssh-tunnel", daemon=True).start()

    def connect(self) -> None:
        """Connect to the host; raises InfraError, with what mends it, when it or its engine cannot be reached."""
        try:
            self._connect()
            self._probe()
        except BaseException:
            self._end()
            raise

    @property
    def alive(self) -> bool:
        """Tell whether the connection to the host stands."""
        return self._master is not None and self._master.poll() is None

    @property
    def reason(self) -> str:
        """Return what ssh said last."""
        with contextlib.suppress(OSError):
            return explain(self._host, self._log.read_text(errors="replace"))
        return ""

    def _connect(self) -> None:
        self._end()
        # What a killed ssh leaves there would keep the next one from sharing its connection.
        (self._folder / "mux").unlink(missing_ok=True)
        # It ends with this process, however that ends: the far cat reads to the end of what we hold open here.
        command = self._command(f"echo {_THERE} && exec cat", "-o", "ControlMaster=yes")
        with self._log.open("wb") as log:
            self._master = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True
            )
        if not self._is_there(self._master, time.monotonic() + 2 * CONNECT_TIMEOUT):
            raise InfraError(self.reason)

    @staticmethod
    def _is_there(master: subprocess.Popen[bytes], deadline: float) -> bool:
        """Read until the far shell has spoken; what a login script prints before that is passed over."""
        assert master.stdout is not None  # noqa: S101 (it is a pipe)
        seen = b""
        while _THERE.encode() not in seen:
            ready, _, _ = select.select([master.stdout], [], [], max(deadline - time.monotonic(), 0))
            if not ready or not (piece := os.read(master.stdout.fileno(), 4096)):
                return False
            seen += piece
        return True

    def _probe(self) -> None:
        """Connect to the engine there and hang up: dial-stdio says in words what the engine's own client would hide."""
        try:
            done = subprocess.run(
                self._command(_DIAL), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                timeout=CONNECT_TIMEOUT, start_new_session=True, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise InfraError(explain(self._host, "the engine there does not answer: timed out")) from None
        if done.returncode:
            raise InfraError(explain(self._host, done.stderr.decode(errors="replace"), engine=True))

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                if self.alive:  # else the engine's client sees the end at once, and not after a timeout
                    self._dial(connection)

    def _dial(self, connection: socket.socket) -> None:
        self._sessions = [session for session in self._sessions if session.poll() is None]
        with contextlib.suppress(OSError), self._log.open("ab") as log:
            ends = connection.fileno()
            self._sessions.append(
                subprocess.Popen(self._command(_DIAL), stdin=ends, stdout=ends, stderr=log, start_new_session=True)
            )

    def _command(self, words: str, *options: str) -> list[str]:
        address = parse(self._host)
        where = [*(("-p", str(address.port)) if address.port else ()), *(("-l", address.user) if address.user else ())]
        mux = ["-o", f"ControlPath={self._folder}/mux"]
        sharing = options or ("-o", "ControlMaster=no")
        return [_ssh(), *_OPTIONS, *mux, *sharing, *where, "--", address.name, words]

    def _end(self) -> None:
        for process in (*self._sessions, *([self._master] if self._master else [])):
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()
        self._sessions, self._master = [], None

    def close(self) -> None:
        """End every session and the connection, and leave no file behind."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # close() alone would leave the thread in accept()
        self._listener.close()
        self._end()
        self._held.release()
        shutil.rmtree(self._folder, ignore_errors=True)


def _ssh() -> str:
    if path := which("ssh"):
        return path
    raise InfraError(f"No ssh client is here. Install it: {tool_command('openssh-client')}")


def _new_folder() -> Path:
    """Make a folder for sockets that only this user may use, and remove those of processes that are gone."""
    usual = tempfile.gettempdir()
    root = Path(usual if len(usual) <= _LONGEST_FOLDER else "/tmp")  # noqa: S108 (mkdtemp makes it safe)
    for old in root.glob(f"{_PREFIX}*"):
        with contextlib.suppress(Timeout, OSError):
            facts = old.stat()
            # One that is being made is not locked yet.
            if facts.st_uid == os.getuid() and time.time() - facts.st_mtime > _YOUNG:
                with FileLock(old / "lock", timeout=0):
                    shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))


class Tunnels:
    """The tunnels of this process, one for each host, connected again when they broke."""

    def __init__(self) -> None:
        self._open: dict[str, Tunnel] = {}
        self._failed: dict[str, tuple[float, InfraError]] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def reach(self, host: str) -> str:
        """Return the URL at which the engine of ``host`` answers here.

        Raises ConfigError for what is no address, InfraError with what mends it when the host cannot be reached. Many
        threads ask at once when a host has gone: one of them tries, the others get its answer.
        """
        try:
            parse(host)
        except ValueError as wrong:
            raise ConfigError(str(wrong)) from None
        with self._lock(host):
            tunnel = self._open.get(host)
            if tunnel is None or not tunnel.alive:
                failed_at, error = self._failed.get(host, (0.0, None))
                if error and time.monotonic() - failed_at < _PATIENCE_AFTER_FAILURE:
                    raise InfraError(str(error))
                tunnel = self._connected(host, tunnel)
            return tunnel.url

    def _connected(self, host: str, old: Tunnel | None) -> Tunnel:
        tunnel = old or Tunnel(host)
        try:
            tunnel.connect()
        except BaseException as error:
            if isinstance(error, InfraError):
                self._failed[host] = (time.monotonic(), error)
            if old is None:
                tunnel.close()
            raise
        self._failed.pop(host, None)
        self._open[host] = tunnel
        return tunnel

    def reason(self, host: str) -> str:
        """Return what ssh said of a connection that broke; nothing while it stands, or where there is none."""
        tunnel = self._open.get(host)
        return tunnel.reason if tunnel and not tunnel.alive else ""

    def leave(self, host: str) -> None:
        """Close the tunnel to ``host``, if there is one."""
        with self._lock(host):
            if tunnel := self._open.pop(host, None):
                tunnel.close()

    def close(self) -> None:
        """Close all tunnels."""
        for host in list(self._open):
            self.leave(host)

    def _lock(self, host: str) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(host, threading.Lock())


TUNNELS = Tunnels()
atexit.register(TUNNELS.close)
