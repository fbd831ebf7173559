"""Install what is missing from the distribution's packages, or name the exact command that does.

Only apt-get is run for the user; the other distributions get their command. Nothing outside the distribution's own
packages is ever added.
"""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.errors import InfraError
from harness.run.endpoints import Say

_ADMIN_DIRS = "/usr/local/sbin:/usr/sbin:/sbin"  # where dockerd lies; not on a Debian user's PATH
_KEPT = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE")
_APPARMOR = Path("/sys/module/apparmor/parameters/enabled")

_INSTALL = {
    "debian": "apt-get install -y --no-install-recommends {}",
    "fedora": "dnf install -y {}",
    "rhel": "dnf install -y {}",
    "suse": "zypper --non-interactive install {}",
    "arch": "pacman -S --noconfirm {}",
}
_KIN = dict.fromkeys(("sles", "opensuse", "opensuse-leap", "opensuse-tumbleweed"), "suse") | {"ubuntu": "debian"}
_ENGINE = {
    "debian": ("docker.io iptables", "systemctl start docker"),
    "fedora": ("moby-engine", "systemctl start docker"),
    "rhel": ("podman", "systemctl start podman.socket"),  # these distributions carry no Docker Engine
    "suse": ("docker", "systemctl start docker"),
    "arch": ("docker", "systemctl start docker"),
}


def which(name: str) -> str | None:
    """Return the path of a program, the administrator's folders included."""
    return shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:{_ADMIN_DIRS}")


def as_root(*command: str) -> list[str] | None:
    """Return the command as root would be given it, None where this process can run nothing as root."""
    if os.geteuid() == 0:
        return list(command)
    if not which("sudo"):
        return None
    kept = [f"{name}={os.environ[name]}" for name in _KEPT if name in os.environ]
    if subprocess.run(["sudo", "-n", "true"], check=False, capture_output=True).returncode == 0:
        return ["sudo", "-n", "env", *kept, *command]
    return ["sudo", "env", *kept, *command] if sys.stdin is not None and sys.stdin.isatty() else None


def typed(*commands: str) -> str:
    """Return commands as this user would type them to have them run as root."""
    if os.geteuid() == 0:
        return " && ".join(commands)
    if which("sudo"):
        return " && ".join(f"sudo {command}" for command in commands)
    return f"su -c '{' && '.join(commands)}'"


def family() -> str:
    """Return which kind of distribution this is: debian, fedora, rhel, suse, arch, or nothing for others."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return ""
    names = [release.get("ID", ""), *release.get("ID_LIKE", "").split()]
    if names[0] != "fedora" and {"rhel", "centos"} & set(names):
        return "rhel"
    known = (_KIN.get(name, name) for name in names)
    return next((name for name in known if name in _INSTALL), "")


def engine_command() -> str:
    """Return the command that installs and starts a container engine on this distribution."""
    if (kind := family()) not in _ENGINE:
        return "your package manager's Docker Engine or Podman"
    packages, start = _ENGINE[kind]
    return f"`{typed(_INSTALL[kind].format(packages), start)}`"


def tool_command(package: str) -> str:
    """Return the command that installs a package on this distribution."""
    kind = family()
    return f"`{typed(_INSTALL[kind].format(package))}`" if kind in _INSTALL else f"your package manager's {package}"


def install_engine(*, may_install: bool, say: Say) -> None:
    """Install Docker Engine from the distribution; raise InfraError naming the command where we may not or it fails."""
    # docker.io only recommends apparmor, but with AppArmor on in the kernel no container starts without its parser.
    apparmor = _APPARMOR.exists() and _APPARMOR.read_text(encoding="ascii").startswith("Y")
    packages = ("docker.io", "iptables", "ca-certificates", *(("apparmor",) if apparmor else ()))
    _install("no container engine here", packages, engine_command(), may_install=may_install, say=say)


def need_tool(name: str, package: str, *, may_install: bool = True, say: Say) -> str:
    """Return the path of a program, installing the package that has it when it is missing.

    Raises InfraError naming the command for this distribution where nothing may be installed, or installing fails.
    """
    if not which(name):
        _install(f"no {name} here", (package,), tool_command(package), may_install=may_install, say=say)
    if path := which(name):
        return path
    raise InfraError(f"the package {package} is installed and yet there is no {name} on this machine")


# Another package manager at work (unattended upgrades, say) is waited for: apt.conf(5).
_PATIENTLY = ("-o", "DPkg::Lock::Timeout=300")


def _install(lack: str, packages: Sequence[str], command: str, *, may_install: bool, say: Say) -> None:
    apt = ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get")
    install = as_root(*apt, "install", *_PATIENTLY, "-y", "--no-install-recommends", *packages)
    update = as_root(*apt, "update")
    if not (may_install and which("apt-get") and install and update):
        raise InfraError(f"{lack}. Install it: {command}")
    say(f"{lack}: installing {packages[0]} with apt-get")
    if _run(install) is None:
        return
    # Lists that are missing or name versions no longer served are the usual reason, and fetching them is not quick.
    if (trouble := _run(update) or _run(install)) is not None:
        raise InfraError(f"{lack}, and apt-get could not install {packages[0]}. Mend it, or try {command}\n{trouble}")


def _run(command: Sequence[str]) -> str | None:
    """Run a command; return None when it did well, else the last lines that it printed."""
    done = subprocess.run(
        command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    return (
        None if done.returncode == 0 else "\n".join(done.stdout.splitlines()[-8:]) or f"exit status {done.returncode}"
    )
