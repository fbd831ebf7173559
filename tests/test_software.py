"""Run programs on the software GPU, on real HIP runtimes: what it must say of itself, and what its faults must give."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.build.softgpu import volume
from harness.results.record import files, read
from harness.run.engine import Engine
from tests.conftest import Write, harness, repro_text, results, write_project

pytestmark = [pytest.mark.engine, pytest.mark.rocm, pytest.mark.timeout(900)]

OLD, NEW = "debian-bookworm", "debian-experimental"
# The oldest and the newest runtime: what holds for both held for those between in the self-test.
IMAGES = """
images:
  - {name: debian-bookworm, source: {kind: distro, suite: bookworm}}
  - name: debian-experimental
    source: {kind: distro, suite: sid, extra_suites: [experimental], target_release: experimental,
             check_valid_until: false}
"""
CHECK = r"""
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
static void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "%s\n", hipGetErrorName(status));
  std::exit(1);
}
"""
BUILD = "['hipcc --offload-arch=gfx90a main.hip -o main -lhsa-runtime64']"


def repro(run: str = "./main", **extra: str) -> str:
    return repro_text(run, build=BUILD, needs="[compiler, device]", **extra)


# Each reads what the software GPU cannot know; the harness must say so.
PLANTED = (
    CHECK
    + r"""
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
__global__ void store(int* to) { *to = 42; }
static hsa_status_t ask(hsa_agent_t agent, void*) {
  char value[4096] = {};
  hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(0xbeef), value);
  return HSA_STATUS_SUCCESS;
}
int main(int, char** words) {
  int *memory = nullptr, result = 0;
  size_t free = 0, total = 0;
  uint16_t mask = 0;
  check(hipMalloc(&memory, sizeof(int)));
  check(hipMemset(memory, 0, sizeof(int)));
  if (!std::strcmp(words[1], "kernel")) store<<<1, 1>>>(memory);
  if (!std::strcmp(words[1], "attribute")) hsa_iterate_agents(ask, nullptr);
  if (!std::strcmp(words[1], "stub")) hsa_agent_get_exception_policies({}, HSA_PROFILE_BASE, &mask);
  if (!std::strcmp(words[1], "memory")) check(hipMemGetInfo(&free, &total));
  check(hipMemcpy(&result, memory, sizeof result, hipMemcpyDeviceToHost));
  std::printf("%d\n", result);
  return std::strcmp(words[1], "kernel") ? 0 : result != 42;
}
"""
)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    params = "{do: [kernel, attribute, stub, memory, nothing]}"
    matrix = write_project(
        tmp_path_factory.mktemp("planted"),
        repros={"planted": repro("./main {do}", params=params),
                "robust": repro("./main {do}", params="{do: [memory, stub]}", robust_to="[free-memory, kernels]"),
                "executed": repro_text("./main kernel", build=BUILD, needs="[compiler, device, kernels]"),
                "deviceless": repro_text("./main", build=BUILD, needs="[compiler, no-device]")},
        matrix=f"{IMAGES}\nrepros: [planted, robust, executed, deviceless]\n",
        files={"repros/planted/main.hip": PLANTED, "repros/robust/main.hip": PLANTED,
               "repros/executed/main.hip": PLANTED,
               "repros/deviceless/main.hip": CHECK + "int main() { int n = 0; hipGetDeviceCount(&n); return n; }"},
    )  # fmt: skip
    done = harness(matrix, "run")
    assert done.status == 0, done.err
    (matrix.parent / "table.txt").write_text(done.out)
    listed: list[dict[str, Any]] = json.loads(harness(matrix, "table", "--json").out)
    return [item | {"table": done.out} for item in listed]


def of(found: list[dict[str, Any]], name: str, **case: str) -> list[dict[str, Any]]:
    chosen = [item for item in found if item["repro"] == name and item["case"] == case]
    assert len(chosen) == 2  # the oldest and the newest version
    return chosen


@pytest.mark.parametrize(
    ("do", "verdict", "topic"),
    [("kernel", "fail", "kernels"), ("attribute", "pass", "unknown-attributes"), ("stub", "pass", "stubs"),
     ("memory", "pass", "free-memory"), ("nothing", "pass", None)],
)  # fmt: skip
def test_what_a_result_may_rest_on_is_told(
    planted: list[dict[str, Any]], do: str, verdict: str, topic: str | None
) -> None:
    for item in of(planted, "planted", do=do):
        assert item["verdict"] == verdict
        # ROCm 5.2 counts free memory by itself and asks nobody.
        marked = topic and not (do == "memory" and item["image"] == OLD)
        assert [mark["topic"] for mark in item["software"]] == ([topic] if marked else [])
        assert all(f"software: {mark['text']}" in item["table"] for mark in item["software"])


def test_the_columns_say_that_they_are_software(planted: list[dict[str, Any]]) -> None:
    assert {item["device"] for item in planted} == {"software gfx90a"}
    assert planted[0]["table"].count("software gfx90a") >= 2


def test_a_repro_that_is_robust_to_an_answer_is_not_marked_for_it(planted: list[dict[str, Any]]) -> None:
    assert all(item["software"] == [] for item in of(planted, "robust", do="memory"))
    assert all(item["software"] for item in of(planted, "robust", do="stub"))


def test_what_needs_executed_kernels_is_skipped_and_what_needs_no_device_gets_none(
    planted: list[dict[str, Any]],
) -> None:
    for item in of(planted, "executed"):
        assert (item["verdict"], item["reason"]) == (
            "skip", "needs kernels; device software gfx90a does not offer it",
        )  # fmt: skip
    for item in of(planted, "deviceless"):
        assert (item["verdict"], item["without_device"]) == ("pass", True)
    assert "(no device)" in planted[0]["table"]


VICTIM = (
    CHECK
    + r"""
__global__ void empty(int*) {}
int main() {
  int* memory = nullptr;
  for (int block = 0; block < 64; ++block) check(hipMalloc(&memory, 4 << 20));
  for (int turn = 0; turn < 3; ++turn) empty<<<1, 1>>>(memory);
  check(hipGetLastError());
  check(hipDeviceSynchronize());
  return 0;
}
"""
)
FAULTS = {
    "slow": "{kernel_us: 200000}",
    "hanging": "{hang_at: 2}",
    "aperture": "{queue_error: HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION}",
    "numbered": '{queue_error: "0x1009@3"}',
    "small": "{oom_after: 128m}",
    "lost": "{lost_at: 1}",
}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, Any]]:
    devices = ", ".join(f"{{kind: software, name: {name}, faults: {fault}}}" for name, fault in FAULTS.items())
    matrix = write_project(
        tmp_path_factory.mktemp("faulty"),
        repros={"victim": repro(timeout="15", robust_to="[kernels]")},
        matrix=f"{IMAGES}\ndevices: [{devices}]\nrepros: [victim]\n",
        files={"repros/victim/main.hip": VICTIM},
    )
    done = harness(matrix, "run")
    assert done.status == 0, done.err
    outcomes = {
        (record.device, record.image): {"outcome": record.outcome.value, "duration": record.duration}
        for record in read(files(matrix.parent / ".harness" / "runs"))
    }
    listed = json.loads(harness(matrix, "table", "--json").out)
    names = {devices_of(fault): name for name, fault in FAULTS.items()}
    return {(names[item["device"]], item["image"]): item | outcomes[item["device"], item["image"]] for item in listed}


def devices_of(fault: str) -> str:
    """Return the label that tables give to a device with a fault."""
    name, value = fault.strip("{}").replace('"', "").split(": ")
    return f"software gfx90a, fault {name}={value}"


# As on hardware: up to ROCm 6 HIP prints the HSA status and aborts, since 7 it prints it and returns an error.


@pytest.mark.parametrize(
    ("fault", "image", "outcome", "signature"),
    [
        ("hanging", OLD, "timeout", "no end within 15 s"),
        ("hanging", NEW, "timeout", "no end within 15 s"),
        ("small", OLD, "oom", "hipErrorOutOfMemory"),
        ("small", NEW, "oom", "hipErrorOutOfMemory"),
        ("lost", OLD, "crash", "GPU exception: GPU Hang"),
        ("lost", NEW, "fail", "hipErrorLaunchFailure"),
        ("aperture", OLD, "crash", "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION"),
        ("aperture", NEW, "fail", "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION"),
        ("numbered", OLD, "crash", "HSA_STATUS_ERROR_INVALID_PACKET_FORMAT"),
        ("numbered", NEW, "fail", "HSA_STATUS_ERROR_INVALID_PACKET_FORMAT"),
        ("slow", OLD, "pass", None),
        ("slow", NEW, "pass", None),
    ],
)
def test_each_fault_gives_the_outcome_it_should(
    faulty: dict[tuple[str, str], dict[str, Any]], fault: str, image: str, outcome: str, signature: str | None
) -> None:
    item = faulty[fault, image]
    assert (item["outcome"], item["signature"]) == (outcome, signature)


def test_slow_kernels_take_their_time(faulty: dict[tuple[str, str], dict[str, Any]]) -> None:
    assert all(faulty["slow", image]["duration"] > 0.6 for image in (OLD, NEW))


def test_an_emptied_volume_is_filled_again_and_never_a_verdict(project: Write, engine: Engine) -> None:
    matrix = project(
        repros={"r": repro()},
        matrix=f"{IMAGES.split('  - name')[0]}\ndevices: [software]\nrepros: [r]\n",
        files={"repros/r/main.hip": CHECK + "int main() { void* p; check(hipMalloc(&p, 64)); }"},
    )
    assert harness(matrix, "run").status == 0
    engine.remove_volume(volume())
    assert harness(matrix, "run", "--fresh").status == 0
    assert results(matrix)["r"]["verdict"] == "pass"
