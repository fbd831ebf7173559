from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judge.outcomes import Outcome
from harness.results.query import by_key, from_records, told
from harness.results.record import Record, Writer, files, read


def record(trial: int = 1, **extra: object) -> Record:
    values = {
        "run": "r", "time": "2026-01-01T00:00:00Z", "key": "k", "repro": "a", "case": {"x": 1}, "control": False,
        "image": "i", "image_id": "sha256:1", "rocm": "6.4.3", "device": "none", "home": "local",
        "environment": "default", "trial": trial, "outcome": Outcome.PASS, "status": 0, "duration": 0.1, **extra,
    }  # fmt: skip
    return Record.model_validate(values)


def test_records_come_back_as_they_were_written(tmp_path: Path) -> None:
    written = [
        record(n, stdout="ünï\u2028\x00\n", metrics=({"name": "t", "value": 1.5, "unit": "us"},)) for n in range(5)
    ]
    writer = Writer(tmp_path, "r")
    for item in written:
        writer.append(item)
    writer.close()
    assert list(read(files(tmp_path))) == written


@given(cut=st.integers(0, 2000))
def test_a_torn_file_loses_no_more_than_its_last_line(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("torn") / "r.jsonl"
    whole = "".join(record(n).model_dump_json() + "\n" for n in range(5)).encode()
    path.write_bytes(whole[: len(whole) - cut % len(whole)])
    complete = whole[: len(whole) - cut % len(whole)].count(b"\n")
    assert len(list(read([path]))) in {complete, complete + 1}


def test_every_line_is_there_before_the_next_trial(tmp_path: Path) -> None:
    writer = Writer(tmp_path, "r")
    writer.append(record(1))
    assert len(list(read(files(tmp_path)))) == 1
    writer.close()


def test_many_threads_write_whole_lines(tmp_path: Path) -> None:
    writer = Writer(tmp_path, "r")

    def write() -> None:
        for number in range(50):
            writer.append(record(number, stdout="x" * 9000))

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    assert len(list(read(files(tmp_path)))) == 400


def test_a_run_owns_its_file_and_leaves_no_empty_one(tmp_path: Path) -> None:
    writer = Writer(tmp_path, "r")
    with pytest.raises(FileExistsError):
        Writer(tmp_path, "r")
    writer.close()
    assert list(tmp_path.iterdir()) == []


def test_files_of_two_hosts_can_be_put_together(tmp_path: Path) -> None:
    ours = record(1)
    theirs = record(1, image="j", key="other", outcome=Outcome.FAIL, signature="s")
    (tmp_path / "both.jsonl").write_text(ours.model_dump_json() + "\n" + theirs.model_dump_json() + "\n{torn")
    results = from_records(read(files(tmp_path)))
    assert [(result.place.image, result.verdict.text) for result in results] == [("i", "pass"), ("j", "fail: s")]


def test_only_what_says_something_counts_as_run() -> None:
    outcomes = list(Outcome)
    records = [record(n, outcome=outcome) for n, outcome in enumerate(outcomes)]
    assert told(records) == len(outcomes) - 1  # all but infra
    assert by_key(records).keys() == {"k"}


def test_of_a_cell_without_a_matrix_the_newest_key_counts() -> None:
    old = record(1, key="old", time="2026-01-01T00:00:00Z", outcome=Outcome.FAIL, signature="s")
    new = record(1, key="new", time="2026-01-02T00:00:00Z")
    assert [result.verdict.word for result in from_records([new, old])] == ["pass"]
