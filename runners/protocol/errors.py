"""Errors of the runner, each with the exit code it ends in."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is wrong: the field, the value seen, the values allowed, what to do."""

    field: str
    seen: str
    allowed: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.field}: {self.seen} (allowed: {self.allowed}). {self.remedy}"


class RunnerError(Exception):
    exit_code = 1

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding


class Refused(RunnerError):
    """The declaration or a pin is wrong; nothing was launched or written."""

    exit_code = 2


class EnvironmentLacks(RunnerError):
    """The machine lacks something; ``remedy`` is the command to get it."""

    exit_code = 3


class RunFailed(RunnerError):
    """The run started and failed; it is sealed with its evidence."""

    exit_code = 1
