from __future__ import annotations

import threading
import time

import pytest

from harness.run import tools


def test_only_one_thread_installs_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two images that both miss mmdebstrap once ran apt-get side by side, and one of them failed on its lock."""
    inside, most = [0], [0]

    def install(name: str, package: str, **_: object) -> str:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.05)
        inside[0] -= 1
        return f"/usr/bin/{name}"

    monkeypatch.setattr(tools, "need_tool", install)
    host = tools.HostTools(print)
    threads = [threading.Thread(target=host.need, args=("mmdebstrap", "mmdebstrap")) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
