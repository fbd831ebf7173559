"""Say what a trial or a cell means: outcomes, signatures, statistics. Pure."""
