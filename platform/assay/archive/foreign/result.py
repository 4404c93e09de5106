"""What a result file of another load client says, in one form: requests, summary, and silence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.analysis.compat.figures import Figure
from assay.analysis.compat.rows import Span, ToolRow
from runners.protocol.documents import Gap


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignCall:
    """One request as the tool recorded it. Times are ns of the tool's clock, from the result's first start.

    ``body_end_ns`` is the end of the reply, where the tool says that; ``usage_tokens`` are output tokens that
    the tool says the server counted.
    """

    call_id: str
    row: ToolRow
    state: str  # ClientState
    failure: str | None = None
    status: int | None = None
    body_end_ns: int | None = None
    usage_tokens: int | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignResult:
    """A whole result. ``reported`` is the tool's own summary; ``unknown`` are quantities that no row can
    give.

    ``instants_are_content`` says whether the tool's token instants are events with content; ``has_starts``
    whether it recorded when requests began.
    """

    tool: str
    version: str | None
    model: str | None
    calls: Sequence[ForeignCall]
    span: Span | None
    reported: Sequence[Figure]
    has_starts: bool = True
    instants_are_content: bool = True
    clock: str = "unspecified"
    unknown: Mapping[str, str] = field(default_factory=dict)  # quantity -> why
    gaps: Sequence[Gap] = ()
