"""What a reply said and when: the facts that metrics, ledgers and pages read.

Times are those of the read that completed an event. ``chunk_times_ns`` and ``chunk_tokens`` have one entry
for each content event (a non-empty answer, reasoning, tool-call or refusal delta).
"""

from array import array
from collections.abc import Callable

from assay.analysis.wire.content import Payload
from assay.analysis.wire.said import Said, ToolCall
from assay.analysis.wire.scoring import Scored
from assay.analysis.wire.token_counts import TokenCounts
from assay.analysis.wire.usage import UsageForm, UsageReports


class Reply:
    """Filled by its reader; None is not seen."""

    __slots__ = (
        "_said",
        "_usage",
        "bare_choice_times_ns",
        "body_bytes",
        "chunk_times_ns",
        "chunk_tokens",
        "class_counts",
        "dialect",
        "dialect_by",
        "done_marker_ns",
        "error_ns",
        "error_type",
        "error_words",
        "events",
        "finish",
        "finish_ns",
        "finish_words",
        "first_content_ns",
        "first_reasoning_ns",
        "first_visible_ns",
        "last_read_ns",
        "problem",
        "prompt_ids",
        "scored",
        "token_ids",
    )

    def __init__(self) -> None:
        self._said = Said()
        self._usage = UsageReports()
        self.dialect: str | None = None
        self.dialect_by: str | None = None  # "declared" | "recognised"
        self.body_bytes = 0
        self.last_read_ns: int | None = None
        self.events = 0
        self.first_content_ns: int | None = None
        self.first_reasoning_ns: int | None = None
        self.first_visible_ns: int | None = None
        self.done_marker_ns: int | None = None
        self.error_ns: int | None = None
        self.error_words: str | None = None
        self.error_type: str | None = None
        self.finish: dict[int, str] = {}
        self.finish_ns: int | None = None
        self.finish_words: str | None = None
        self.chunk_times_ns = array("q")
        self.chunk_tokens = TokenCounts()
        self.class_counts: dict[int, int] = {}
        self.bare_choice_times_ns = array("q")  # a choice without content: role only, finish only
        self.token_ids: int | None = None
        self.prompt_ids: int | None = None
        self.problem: str | None = None
        self.scored: Scored | None = None  # the answer of a call that produces no tokens

    @property
    def content_events(self) -> int:
        return len(self.chunk_times_ns)

    @property
    def counted_tokens(self) -> int | None:
        """Tokens of all content events; None if those of one are not known."""
        return self.chunk_tokens.total

    @property
    def last_content_ns(self) -> int | None:
        return self.chunk_times_ns[-1] if self.chunk_times_ns else None

    @property
    def text(self) -> str:
        """The answer of the first choice."""
        return self._said.answer()

    @property
    def reasoning_text(self) -> str:
        return self._said.reasoning()

    @property
    def refusal_text(self) -> str:
        return self._said.refusal()

    @property
    def tool_calls(self) -> list[ToolCall]:
        return self._said.tool_calls()

    def writer(self, payload: Payload) -> Callable[[str], object]:
        """Where the words of payloads go that say what this one said, but for one text."""
        return self._said.writer(payload)

    def choices(self) -> dict[int, str]:
        """Answer text by choice index."""
        return self._said.answers()

    def generated_texts(self) -> list[str]:
        """Reasoning, answer and refusal of every choice: what a tokenizer can count again."""
        return self._said.texts()

    @property
    def finish_reason(self) -> str | None:
        """The finish reason of the first choice that gave one, in the server's own word."""
        return self.finish[min(self.finish)] if self.finish else None

    @property
    def usage_tokens(self) -> int | None:
        return self._usage.total

    @property
    def usage_form(self) -> UsageForm | None:
        return self._usage.form

    @property
    def prompt_tokens(self) -> int | None:
        return self._usage.prompt

    @property
    def cached_tokens(self) -> int | None:
        return self._usage.cached

    @property
    def reasoning_tokens(self) -> int | None:
        return self._usage.reasoning
