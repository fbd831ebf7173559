"""Show where a HIP or PyTorch program breaks across ROCm versions, devices and mount set-ups, and since when."""

__version__ = "0.1.0"
