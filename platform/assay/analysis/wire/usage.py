"""What a server's usage reports say together: late, cumulative, or per chunk.

*Late*: one report after the content. *Cumulative*: each report counts everything so far. *Per chunk*: each
counts its own chunk alone. A report that falls between content events cannot be cumulative; nor can reports
that stand still and whose sum is the total that comes afterwards. Without either proof they are read as
cumulative, and the last one stands.
"""

from array import array
from enum import StrEnum

from assay.analysis.wire.content import Usage


class UsageForm(StrEnum):
    late = "late"
    cumulative = "cumulative"
    per_chunk = "per_chunk"


class UsageReports:
    """Takes reports in order; ``with_content`` are those that came with a content event."""

    __slots__ = (
        "_before",
        "_chunks",
        "_fell",
        "_last_had_content",
        "_next",
        "cached",
        "completion",
        "prompt",
        "reasoning",
    )

    def __init__(self) -> None:
        self.completion: int | None = None  # of the last report that had one
        self.prompt: int | None = None
        self.cached: int | None = None
        self.reasoning: int | None = None
        self._chunks = array("q")  # reports at content events
        self._before = 0  # the report before
        self._next = 0  # the content event that would follow the one with that report
        self._fell = False
        self._last_had_content = False

    def take(self, usage: Usage, *, with_content: bool) -> None:
        if usage.completion is not None:
            self.completion = usage.completion
            self._last_had_content = with_content
        if usage.prompt is not None:
            self.prompt = usage.prompt
        if usage.cached is not None:
            self.cached = usage.cached
        if usage.reasoning is not None:
            self.reasoning = usage.reasoning

    def tokens_of_chunk(self, reported: int, event: int) -> int | None:
        """Tokens of content event number ``event`` by growth since the one before it; None is not known."""
        before = self._before if event == self._next else None
        self._before, self._next = reported, event + 1
        if self._chunks and reported < self._chunks[-1]:
            self._fell = True
        self._chunks.append(reported)
        return reported - before if before is not None and reported > before else None

    @property
    def form(self) -> UsageForm | None:
        if self.completion is None:
            return None
        if not self._chunks:
            return UsageForm.late
        return UsageForm.per_chunk if self._is_per_chunk() else UsageForm.cumulative

    @property
    def total(self) -> int | None:
        """Generated tokens as the server reported them."""
        if self.form is UsageForm.per_chunk and self._last_had_content:
            return sum(self._chunks)
        return self.completion

    def per_chunk(self, events: int) -> "array[int] | None":
        """The count of each of ``events`` content events, if every one carried its own."""
        is_own = self.form is UsageForm.per_chunk and len(self._chunks) == events
        return self._chunks if is_own else None

    def _is_per_chunk(self) -> bool:
        chunks = self._chunks
        if self._fell:
            return True
        stood_still = len(chunks) > 1 and chunks[0] == chunks[-1]  # they never fell
        return stood_still and not self._last_had_content and sum(chunks) == self.completion
