"""Name the two ways a command can fail, so that every error leaves as one paragraph and the right exit status.

Exit statuses are a contract with users' scripts: 0 done, 1 a repro failed where ``--fail`` asks for it, 2 wrong usage
or configuration, 3 infrastructure, 130 interrupted.
"""


class HarnessError(Exception):
    """Carry one clear paragraph for the user; ``exit_status`` is what the process ends with."""

    exit_status = 3


class ConfigError(HarnessError):
    """Report something the user wrote (matrix, repro, command line) and can mend; nothing has run."""

    exit_status = 2


class InfraError(HarnessError):
    """Report trouble that says nothing about ROCm: engine, registry, network, disk."""

    exit_status = 3
