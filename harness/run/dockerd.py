"""Start Docker Engine's daemon by systemd or by hand, wait until it answers, and stop it again."""

import os
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InfraError
from harness.run.endpoints import Ask, Endpoint, Reply, Say
from harness.run.install import as_root, typed, which
from harness.run.started import Started, file_of, forget, lock, recall, remember, start_time

_STARTING = 60.0  # seconds a daemon may take until it answers
_STOPPING = 45.0  # seconds it may take to end; dockerd gives its containers 15 of them
_PAUSE = 0.2
_LOG_LINES = 8
_NO_NETWORK = ("--bridge=none", "--iptables=false")
_BRIDGE = Path("/sys/class/net/docker0")
_NETWORK_TROUBLE = re.compile(r"iptables|ip6tables|nf_tables|bridge", re.IGNORECASE)
_SYSTEMD = Path("/run/systemd/system")  # there when systemd is process 1, see sd_booted(3)

# Run by root: the shell goes away and leaves the daemon in a session of its own, without our terminal. Root cannot
# write the log where a home on NFS is squashed, hence the second place for it. $2 are the stale pid files, as words.
_LAUNCH = """
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"; log=$1; rm -f $2; shift 2
(: >>"$log") 2>/dev/null || log=/run/rocm-harness-dockerd.log
setsid "$@" </dev/null >>"$log" 2>&1 &
echo "$! $log"
"""


@dataclass(frozen=True, kw_only=True)
class Dockerd:
    """Describe the daemon to start: where it will answer, where its number is written, its command and systemd units.

    The default is the machine's own daemon as its packages set it up. Without units systemd is never used.
    """

    url: str = "unix:///var/run/docker.sock"
    pidfiles: tuple[Path, ...] = (Path("/var/run/docker.pid"), Path("/var/run/docker-ssd.pid"))  # 2nd: init script's
    command: tuple[str, ...] = ("dockerd",)
    units: tuple[str, ...] = ("docker.socket", "docker.service", "containerd.service")


def idle_units(daemon: Dockerd) -> tuple[str, ...]:
    """Return those of the daemon's systemd units that are not active."""
    return tuple(unit for unit in daemon.units if _systemctl("is-active", "--quiet", unit).returncode != 0)


def running(daemon: Dockerd) -> Started | None:
    """Return the daemon that the pid files name; None when they are missing or left over from a crash."""
    for path in daemon.pidfiles:
        try:
            pid = int(path.read_text(encoding="ascii"))
            name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            continue
        if name == "dockerd" and (start := start_time(pid)) is not None:
            return Started(pid=pid, start=start, url=daemon.url)
    return None


def start_daemon(daemon: Dockerd, *, ask: Ask, state: Path, say: Say, idle: tuple[str, ...] | None = None) -> Endpoint:
    """Start the installed daemon and return its endpoint once it answers; the caller holds ``started.lock``.

    ``idle``, given when we installed it just now, are the units that were not active before: a daemon that the package
    itself has started counts as ours. Raises InfraError where we cannot be root, or when it dies or stays silent.
    """
    if _by_systemd(daemon):
        process = _start_units(idle_units(daemon) if idle is None else idle, daemon.url, say)
        return _settle(process, "docker.service" in process.units, ask, state, say)
    if process_there := running(daemon):
        return _settle(process_there, idle is not None, ask, state, say)
    return _start_by_hand(daemon, ask, state, say)


def stop(state: Path, say: Say) -> bool:
    """Stop the daemon that we started on this host; return whether there was one.

    Raises InfraError when we may not stop it or it has not ended after 45 seconds; it is never killed.
    """
    with lock(state):
        daemon = recall(state)
        if daemon is not None:
            _end(daemon)
            say(f"stopped the container engine that was started here ({daemon.url})")
        forget(state)
        return daemon is not None


def _end(daemon: Started) -> None:
    words = " ".join(("systemctl", "stop", *daemon.units) if daemon.units else ("kill", "-TERM", str(daemon.pid)))
    command = as_root("sh", "-c", words)  # by a shell, which has its own kill: a bare machine has no such program
    if command is None or subprocess.run(command, check=False, capture_output=True).returncode != 0:
        raise InfraError(f"The engine that was started here could not be stopped. Run `{typed(words)}`.")
    deadline = time.monotonic() + _STOPPING
    while daemon.lives():
        if time.monotonic() > deadline:
            raise InfraError(f"dockerd (process {daemon.pid}) was told to stop and still runs; try again in a minute.")
        time.sleep(_PAUSE)


def _start_units(idle: tuple[str, ...], url: str, say: Say) -> Started:
    command = as_root("systemctl", "start", "docker.service")
    if command is None:
        raise InfraError(f"Docker Engine is installed but not running. Run `{typed('systemctl start docker')}`.")
    say("starting Docker Engine with systemctl")
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    pid = int(_systemctl("show", "--property=MainPID", "--value", "docker.service").stdout.strip() or 0)
    if done.returncode != 0 or (start := start_time(pid)) is None:
        raise InfraError(f"`systemctl start docker` failed; `journalctl -u docker` says why.\n{done.stderr.strip()}")
    return Started(pid=pid, start=start, url=url, units=idle)


def _settle(process: Started, ours: bool, ask: Ask, state: Path, say: Say) -> Endpoint:
    """Wait for a daemon that runs without our having launched it; record it when it runs because of us."""
    if ours:
        remember(state, process)
    if not _wait(process, ask):
        raise InfraError(
            f"dockerd runs (process {process.pid}), but nothing answers at {process.url}. Look at its log "
            "(`journalctl -u docker` or /var/log/docker.log), or name another engine with --engine."
        )
    if ours:
        _open_socket(process.url, ask, say)
    return Endpoint(url=process.url, source="started" if ours else "socket", started=ours)


def _start_by_hand(daemon: Dockerd, ask: Ask, state: Path, say: Say, extra: tuple[str, ...] = ()) -> Endpoint:
    say(" ".join(("starting dockerd", *extra)))
    # --bridge=none deletes docker0. One that is there already may be another engine's, on a network that we share.
    may_go_without = not extra and not _BRIDGE.exists()
    process, log = _launch(daemon, state, extra)
    remember(state, process)  # before it answers, so that after an interrupt here `clean` still finds it
    if _wait(process, ask):
        _open_socket(daemon.url, ask, say)
        return Endpoint(url=daemon.url, source="started", started=True)
    if process.lives():
        raise InfraError(f"dockerd does not answer at {daemon.url} after {_STARTING:.0f} s ({log}):\n{_tail(log)}")
    forget(state)
    if (other := running(daemon)) and _wait(other, ask):
        return Endpoint(url=daemon.url, source="socket")  # another checkout was quicker, and it is that one's to stop
    if may_go_without and _NETWORK_TROUBLE.search(_tail(log)):
        return _start_by_hand(daemon, ask, state, say, _NO_NETWORK)
    raise InfraError(f"dockerd ended while starting ({log}):\n{_tail(log)}")


def _launch(daemon: Dockerd, state: Path, extra: tuple[str, ...]) -> tuple[Started, Path]:
    """Run dockerd away from us; return its process and its log."""
    log = file_of(state, "log").absolute()
    log.unlink(missing_ok=True)  # root's, from an earlier start
    log.touch()
    # A pid file that outlived its dockerd names nobody or another program, and the new one would refuse to start.
    stale = " ".join(str(path) for path in daemon.pidfiles if path.exists())
    program, *flags = daemon.command
    command = as_root("sh", "-c", _LAUNCH, "sh", str(log), stale, which(program) or program, *flags, *extra)
    typed_command = typed(" ".join(daemon.command))
    if command is None:
        raise InfraError(f"Docker Engine is installed but not running. Run `{typed_command}`.")
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    pid, _, where = done.stdout.strip().partition(" ")
    if not pid.isdigit():
        raise InfraError(f"dockerd could not be started as root. Run `{typed_command}`.")
    return Started(pid=int(pid), start=start_time(int(pid)) or 0, url=daemon.url), Path(where)


def _by_systemd(daemon: Dockerd) -> bool:
    return bool(daemon.units) and _SYSTEMD.is_dir() and _systemctl("cat", "docker.service").returncode == 0


def _systemctl(*words: str) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(["systemctl", *words], check=False, capture_output=True, text=True)
    except FileNotFoundError:
        return subprocess.CompletedProcess(words, returncode=1, stdout="", stderr="")


def _wait(process: Started, ask: Ask) -> bool:
    """Wait until the daemon answers, ends, or has had its time; return whether it is there."""
    deadline = time.monotonic() + _STARTING
    while process.lives() and time.monotonic() < deadline:
        if ask(process.url) is not Reply.SILENT:
            return True
        time.sleep(_PAUSE)
    return False


def _open_socket(url: str, ask: Ask, say: Say) -> None:
    """Give the socket of the daemon that root just started for this user to them and to nobody else."""
    if ask(url) is not Reply.DENIED:
        return
    path = url.removeprefix("unix://")
    command = as_root("chown", str(os.getuid()), path)
    if command and subprocess.run(command, check=False, capture_output=True).returncode == 0:
        say(f"{path} belongs to you for as long as this engine runs")


def _tail(log: Path) -> str:
    try:
        return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_LINES:])
    except OSError as error:
        return str(error)
