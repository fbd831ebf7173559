from __future__ import annotations

import json

import pytest

from harness.judge import homes
from harness.judge.caches import CACHES, cache_of
from harness.judge.homes import Failed, HomeWrites, Wrote
from harness.run.trials import HomeSeen, Output, Trial


def trial(seen: HomeSeen, printed: str = "") -> Trial:
    return Trial(number=1, limit=60, status=1, home=seen, stderr=Output(head=printed.encode()))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (".cache/miopen/3.2.0.abc/gfx90a68.ukdb", "MIOpen kernel cache"),
        ("elsewhere/gfx90a68.ukdb-wal", "MIOpen kernel cache"),
        (".config/miopen/gfx90a68.HIP.3_2_0.ufdb.txt", "MIOpen user database"),
        ("db/gfx90a68.HIP.3_2_0.updb.txt", "MIOpen user database"),
        (".config/miopen/miopen-lockfiles/x.lock", "MIOpen lock files"),
        (".triton/cache/ab/cd.hsaco", "Triton cache"),
        ("tmp/torchinductor_root/ab/c.py", "inductor cache"),
        ("torchinductor", "inductor cache"),
        (".cache/comgr/llvmcache-1", "comgr cache"),
        (".cache/torch/hub/x", "torch cache"),
        (".cache/torch/kernels/k", "torch cache"),
        (".cache/torch_extensions/py311_cpu/x", "torch extensions"),
        (".cache/huggingface/hub/m", "Hugging Face cache"),
        (".cache/pip/http-v2/1", "pip cache"),
        (".cache", "all caches below ~/.cache"),
        ("work/miopen", None),
        (".cache/miopenish", None),
    ],
)
def test_caches_go_by_their_paths(path: str, name: str | None) -> None:
    found = cache_of(path)
    assert (found.name if found else None) == name


def test_every_cache_has_a_source_and_a_name_of_its_own() -> None:
    assert len({cache.name for cache in CACHES}) == len(CACHES)
    assert all(cache.source.startswith("https://") and cache.variable for cache in CACHES)


def test_a_log_tells_what_was_written_and_what_was_refused() -> None:
    log = [
        {"op": "mkdir", "path": ".cache", "count": 1, "bytes": 0},
        {"op": "write", "path": ".cache/miopen/1/a.ukdb", "count": 2, "bytes": 12},
        {"op": "create", "path": ".cache/miopen/1/a.ukdb", "count": 1, "bytes": 0},
        {"op": "flock", "path": ".triton/lock", "errno": "ENOLCK", "count": 3, "bytes": 0},
        {"left_out": 7},
    ]
    text = "\n".join([*map(json.dumps, log), '{"op": "cut o'])
    found = homes.read(trial(HomeSeen(file_system="fuse.restricted", log=text)), means="m")
    assert found.by == "log"
    assert found.wrote[1] == Wrote(path=".cache/miopen/1/a.ukdb", bytes=12, cache="MIOpen kernel cache")
    assert found.failed == (Failed(op="flock", path=".triton/lock", errno="ENOLCK", count=3, cache="Triton cache"),)
    assert found.locks == (".triton/lock",)
    assert found.left_out == 7
    assert found.caches == ("MIOpen kernel cache", "Triton cache")  # not the folder above one that is named
    assert homes.sentence(found) == "home: Triton cache: ENOLCK (flock)"


def test_where_a_path_is_refused_half_way_the_program_says_where_it_was_going() -> None:
    log = json.dumps({"op": "getattr", "path": ".cache", "errno": "EACCES", "count": 1, "bytes": 0})
    said = "[Errno 13] Permission denied: '/home/repro/.cache/miopen/3.2.0'"
    found = homes.read(trial(HomeSeen(file_system="fuse.restricted", log=log), said))
    assert found.caches == ("MIOpen kernel cache",)
    assert "`user:` with the owner's uid:gid" in str(homes.sentence(found))
    assert [(item.op, item.errno) for item in found.failed] == [("getattr", "EACCES"), ("printed", "EACCES")]


def test_without_a_log_files_and_printed_words_tell() -> None:
    seen = HomeSeen(
        file_system="nfs4",
        writable=False,
        files=(("f", 5, ".triton/cache/x.lock"), ("d", 4096, ".cache/pip"), ("d", 4096, "")),
    )
    said = "mkdir: cannot create directory '/home/repro/.config/miopen': Permission denied\nflock: No locks available\n"
    found = homes.read(trial(seen, said + "cp: /elsewhere: Permission denied"))
    assert [(item.path, item.bytes) for item in found.wrote] == [(".triton/cache/x.lock", 5), (".cache/pip", 4096)]
    assert [(item.path, item.errno, item.cache) for item in found.failed] == [
        (".config/miopen", "EACCES", "MIOpen user database"),
        (homes.UNNAMED, "ENOLCK", None),
    ]
    assert found.locks == (".triton/cache/x.lock",)
    text = homes.sentence(found)
    assert text is not None
    assert "not writable at all" in text
    assert "root_squash" in text
    assert "MIOpen user database: EACCES (printed)" in text


def test_nothing_refused_is_nothing_to_say() -> None:
    assert homes.sentence(None) is None
    assert homes.sentence(homes.read(trial(HomeSeen(file_system="ext4", writable=True)))) is None
    assert homes.together([homes.read(trial(HomeSeen()))]) is None


def test_trials_of_a_cell_are_put_together() -> None:
    def one(path: str) -> HomeWrites:
        refused = Failed(op="open", path="f", errno="EROFS")
        return HomeWrites(by="log", file_system="x", wrote=(Wrote(path=path, bytes=1),), failed=(refused,))

    both = homes.together([one("a"), one("b"), HomeWrites()])
    assert both is not None
    assert [item.path for item in both.wrote] == ["a", "b"]
    assert [item.count for item in both.failed] == [2]


def test_a_million_files_are_counted_and_not_listed() -> None:
    files = tuple(("f", 1, f"d/{number}") for number in range(1000))
    found = homes.read(trial(HomeSeen(file_system="ext4", files=files)))
    assert len(found.wrote) == homes.MOST_NAMED
    assert found.left_out == 1000 - homes.MOST_NAMED
