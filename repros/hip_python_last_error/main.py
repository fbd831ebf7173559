"""Ask for the last error after a failed and a successful call, through hip-python; or copy memory there and back."""

from __future__ import annotations

import sys

from hip import hip
from repro import BROKEN, repro_observe, repro_signature

TOO_MUCH = 1 << 62  # more than any address space


def required(answer: tuple) -> object:
    """Return what a call gave beside its status, which has to be success."""
    status, *rest = answer
    if status != hip.hipError_t.hipSuccess:
        print("set-up:", status)
        sys.exit(BROKEN)
    return rest[0] if rest else None


def last_error(ask: str) -> int:
    """Fail an allocation, succeed with hipSetDevice, and see whether the failure is still known."""
    required(hip.hipSetDevice(0))
    (failed, *_) = hip.hipMalloc(TOO_MUCH)
    if failed != hip.hipError_t.hipErrorOutOfMemory:
        return BROKEN
    required(hip.hipSetDevice(0))
    (seen,) = getattr(hip, ask)()
    repro_observe(ask, seen.name)
    print(f"{ask}: {seen.name}, wanted {failed.name}")
    if seen != failed:
        repro_signature(seen.name)
    return int(seen != failed)


def round_trip() -> int:
    """Copy bytes to the device, from there to another place on it, and back."""
    size = 1 << 20
    there, back = bytearray(range(256)) * (size // 256), bytearray(size)
    first, second = required(hip.hipMalloc(size)), required(hip.hipMalloc(size))
    kind = hip.hipMemcpyKind
    required(hip.hipMemcpy(first, there, size, kind.hipMemcpyHostToDevice))
    required(hip.hipMemcpy(second, first, size, kind.hipMemcpyDeviceToDevice))
    required(hip.hipMemcpy(back, second, size, kind.hipMemcpyDeviceToHost))
    print("the bytes came back", "the same" if back == there else "changed")
    return int(back != there)


if __name__ == "__main__":
    sys.exit(round_trip() if sys.argv[1] == "round_trip" else last_error(sys.argv[1]))
