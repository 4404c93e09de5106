"""Errors of the runner, each with the exit code it ends in."""

from experiments.errors import Finding as Finding  # one word, one class
from runners.protocol.exit_codes import FAILED, LACKING, REFUSED


class RunnerError(Exception):
    """``finding`` is the first of ``findings``; a refusal may hold several."""

    exit_code = FAILED

    def __init__(self, finding: Finding, *more: Finding) -> None:
        self.findings = (finding, *more)
        super().__init__("\n".join(str(f) for f in self.findings))
        self.finding = finding


class Refused(RunnerError):
    """The declaration or a pin is wrong; nothing was launched or written."""

    exit_code = REFUSED


class EnvironmentLacks(RunnerError):
    """The machine lacks something; ``remedy`` is the command to get it."""

    exit_code = LACKING


class RunFailed(RunnerError):
    """The run started and failed; it is sealed with its evidence."""

    exit_code = FAILED
