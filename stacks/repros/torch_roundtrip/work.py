"""Do one piece of work with PyTorch on a GPU. Values are checked only where no kernel computes them."""

from __future__ import annotations

import sys
import time

from repro import repro_metric, repro_observe


def work(name: str) -> str | None:
    """Return what went wrong, or None."""
    start = time.monotonic()
    import torch

    repro_metric("import", time.monotonic() - start, "s")
    repro_observe("versions", f"torch {torch.__version__}, HIP {torch.version.hip}")
    start = time.monotonic()
    if not torch.cuda.is_available():
        return "torch.cuda.is_available() is False"
    if name == "round-trip":
        host = torch.arange(1 << 20, dtype=torch.float32)
        if not torch.equal(host.cuda().cpu(), host):
            return "the tensor came back changed"
    elif name != "available":
        channels = int(name.removeprefix("conv"))
        x, weight = torch.ones(1, 3, 32, 32), torch.ones(channels, 3, 3, 3)
        y = torch.nn.functional.conv2d(x.cuda(), weight.cuda(), padding=1, stride=1)
        torch.cuda.synchronize()
        if tuple(y.shape) != (1, channels, 32, 32):
            return f"the result has the shape {tuple(y.shape)}"
    repro_metric("work", time.monotonic() - start, "s")
    return None


if __name__ == "__main__":
    wrong = work(sys.argv[1])
    sys.exit(f"wrong: {wrong}" if wrong else 0)
