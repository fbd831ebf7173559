"""Translate the description of a container into what the engine is asked for."""

from __future__ import annotations

from typing import Any

import docker
from docker.types import DeviceRequest, DriverConfig, LogConfig, Mount

from harness.run.container import ContainerSpec


def creation(api: docker.APIClient, spec: ContainerSpec) -> dict[str, Any]:
    """Translate a container's description into what the engine's API is asked for."""
    host = api.create_host_config(
        network_mode="none",
        cap_drop=["ALL"],
        cap_add=[*spec.powers.capabilities, *spec.wider.capabilities],
        pid_mode="host" if spec.powers.host_processes else None,
        volumes_from=list(spec.powers.volumes_of),
        auto_remove=spec.powers.vanishes,
        security_opt=_security(spec),
        ipc_mode=spec.wider.ipc,
        shm_size=spec.wider.shm_size,
        read_only=True,
        init=True,
        pids_limit=spec.pids,
        mem_limit=spec.memory,
        # The same limit for memory and swap: what does not fit in memory is killed, not paged.
        memswap_limit=spec.memory,
        nano_cpus=int(spec.cpus * 1e9) if spec.cpus else None,
        tmpfs=dict(spec.tmpfs),
        mounts=_mounts(spec),
        devices=[f"{outside}:{inside}:rw" for outside, inside in spec.devices.items()],
        # In the form of requests: a name among the devices would be taken for a path.
        device_requests=[DeviceRequest(driver="cdi", device_ids=list(spec.cdi))] if spec.cdi else None,
        runtime=spec.runtime,
        group_add=[str(group) for group in spec.groups],
        # The kernel shows a GPU's node of the topology only to who may use its render node (kfd_priv.h,
        # kfd_devcgroup_check_permission): whoever looks at the host's /sys may, though no node is given.
        device_cgroup_rules=["c 226:* rw"] if spec.folders else None,
        # The output is read as it comes; a copy on the engine's disk would grow without bound.
        log_config=LogConfig(type="none"),
    )
    config: dict[str, Any] = api.create_container_config(
        image=spec.image,
        entrypoint=list(spec.entrypoint),
        command=list(spec.command),
        environment=dict(spec.environment),
        user=spec.user,
        labels=dict(spec.labels),
        host_config=host,
        network_disabled=True,
    )
    return config


def _security(spec: ContainerSpec) -> list[str]:
    """Return the security options; AppArmor and SELinux let no container mount, whatever its capabilities.

    https://docs.docker.com/engine/security/apparmor/
    """
    # A home that is restricted by a filter of system calls needs it: what the matrix lifts stays lifted elsewhere.
    seccomp = spec.seccomp or spec.wider.seccomp
    options = ["no-new-privileges", *([f"seccomp={seccomp}"] if seccomp else [])]
    return [*options, "apparmor=unconfined", "label=disable"] if "SYS_ADMIN" in spec.powers.capabilities else options


def _mounts(spec: ContainerSpec) -> list[Mount]:
    """Return fresh volumes, shared ones that are read-only and stay as they are, and those that are to be filled."""
    fresh = [Mount(target=path, source=None, type="volume") for path in spec.volumes]
    # Without no_copy the engine would copy what the image has there, and take over its owner, on the user's own files.
    there = [
        Mount(target=path, source=volume.name, type="volume", no_copy=True, labels=dict(spec.labels),
              driver_config=DriverConfig("local", dict(volume.options)))
        for path, volume in spec.written.items()
    ]  # fmt: skip
    there += [Mount(target=path, source=source, type="bind") for path, source in spec.binds.items()]
    shared = [
        Mount(target=path, source=name, type="volume", read_only=True, no_copy=True)
        for path, name in spec.shared.items()
    ]
    filled = [Mount(target=path, source=name, type="volume") for path, name in spec.filled.items()]
    folders = [Mount(target=path, source=name, type="bind", read_only=True) for path, name in spec.folders.items()]
    return [*fresh, *there, *shared, *filled, *folders]
