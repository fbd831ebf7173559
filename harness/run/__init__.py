"""Run cells in containers: engine, devices, homes, limits, trials, schedule."""
