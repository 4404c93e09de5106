"""Two accounts of a model's format: what its card or configuration intends, and what the back end executes.

Budgets cite the executed format. The design stays on record, and a difference between the two is a gap.
Source: chapter 2.4.5.
"""

from dataclasses import dataclass

from runners.protocol.documents import Gap


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatRecord:
    """Format of one thing (weights, K/V, ...). ``executed`` is None until a back end was seen."""

    what: str
    designed: str
    designed_source: str
    executed: str | None
    executed_evidence: str | None

    @property
    def budget_format(self) -> str:
        """The executed format; the design only while nothing has run."""
        return self.executed or self.designed

    @property
    def budget_basis(self) -> str:
        """What the budget's format rests on, for the page beside it."""
        if self.executed is None:
            return f"design ({self.designed_source}); nothing has run yet"
        return f"executed ({self.executed_evidence})"

    def gap(self) -> Gap | None:
        """The difference between design and execution; None if there is none or nothing has run."""
        if self.executed in (None, self.designed):
            return None
        return Gap(
            what=f"{self.what}: designed as {self.designed} ({self.designed_source}), executed as "
            f"{self.executed} ({self.executed_evidence})",
            affects=f"memory budget and traffic of {self.what}",
            needed="the back end's reason: an unsupported format, a conversion, or another file",
            state="open",
        )
