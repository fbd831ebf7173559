"""Synchronize an event whose stream was destroyed, or (the controls) one whose stream was not, through hip-python."""

from __future__ import annotations

import sys
from collections import Counter

from hip import hip
from repro import BROKEN, repro_metric, repro_observe, repro_signature

SIZE = 64  # bytes: something to do for a stream


def required(answer: tuple) -> object:
    """Return what a call gave beside its status, which has to be success."""
    status, *rest = answer
    if status != hip.hipError_t.hipSuccess:
        print("set-up:", status)
        sys.exit(BROKEN)
    return rest[0] if rest else None


def record_and_finish(stream: object, event: object, memory: object) -> None:
    """Give the stream something to do, record the event behind it, and wait until both are done."""
    required(hip.hipMemsetAsync(memory, 0, SIZE, stream))
    required(hip.hipEventRecord(event, stream))
    required(hip.hipStreamSynchronize(stream))


def synchronized(event: object) -> str:
    """Return the name of what hipEventSynchronize gave."""
    (status,) = hip.hipEventSynchronize(event)
    return status.name


def one(case: str) -> Counter[str]:
    """Do one of the short sequences."""
    memory, event, stream = (
        required(hip.hipMalloc(SIZE)),
        required(hip.hipEventCreate()),
        required(hip.hipStreamCreate()),
    )
    record_and_finish(stream, event, memory)
    if case == "sync-before-destroy":
        seen = synchronized(event)
        required(hip.hipStreamDestroy(stream))
        return Counter([seen])
    if case != "stream-alive":
        required(hip.hipStreamDestroy(stream))
    if case == "recorded-again":
        record_and_finish(required(hip.hipStreamCreate()), event, memory)
    return Counter([synchronized(event)])


def long_lived(rounds: int) -> Counter[str]:
    """Use one event while streams come and go, with lists of many sizes made in between."""
    memory, event = required(hip.hipMalloc(SIZE)), required(hip.hipEventCreate())
    counts: Counter[str] = Counter()
    for number in range(rounds):
        stream = required(hip.hipStreamCreate())
        record_and_finish(stream, event, memory)
        required(hip.hipStreamDestroy(stream))
        others = [bytes([number % 3]) * (64 + 16 * (number % 241)) for _ in range(4)]
        counts[synchronized(event)] += 1
        del others
    return counts


def main() -> int:
    """Run the case named on the command line; return its exit status."""
    case, rounds = sys.argv[1], int(sys.argv[2])
    required(hip.hipSetDevice(0))
    counts = long_lived(rounds) if case == "long-lived-event" else one(case)
    for name, count in counts.items():
        print(f"{name}: {count}")
        repro_metric(name, count, "calls")
    bad = [name for name in counts if name != "hipSuccess"]
    repro_observe("hipEventSynchronize", ", ".join(counts))
    if bad:
        repro_signature(bad[0])
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
