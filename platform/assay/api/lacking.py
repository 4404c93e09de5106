"""What keeps a declaration from starting on the machine of this server."""

from assay.execution.rehearsing import Look
from experiments.errors import Finding, Refusal
from runners.protocol.exit_codes import LACKING


class Lacking(Exception):
    """The declaration is sound, but this machine lacks something for it."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        super().__init__("; ".join(map(str, findings)))
        self.findings = findings


def refuse_unprepared(look: Look) -> None:
    """Raises Refusal for a pin that does not hold, Lacking for what the machine has not."""
    if look.refused is None:
        return
    if look.refused.exit_code == LACKING:
        raise Lacking(look.findings)
    raise Refusal(look.findings)
