"""What a declaration says about how replies are to be read; all of it may be silent."""

from dataclasses import dataclass

from assay.analysis.wire.reasoning_tags import ReasoningTags
from experiments.schema.workload import CallType


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """``dialect`` (a key of the table) and ``call_type`` are None where the reply itself must show them."""

    dialect: str | None = None
    reasoning_tags: ReasoningTags | None = None
    call_type: CallType | None = None


NOTHING_DECLARED = Declared()
