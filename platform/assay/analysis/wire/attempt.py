"""One attempt as the client saw it: its ids, its instants, its reply, its final state."""

from dataclasses import dataclass, field

import numpy as np

from assay.analysis.quantities import NS_PER_S
from assay.analysis.wire.stream import ReplyReader
from assay.analysis.wire.unscheduled import Unscheduled
from experiments.schema.workload import CallType
from runners.protocol.events import ClientState


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptIds:
    """Five object types, five ids; ledgers are joined by these alone. None is not known."""

    attempt_id: str
    request_id: str | None = None
    task_id: str | None = None
    session_id: str | None = None
    model_call_id: str | None = None
    retry_of: str | None = None

    def as_dict(self) -> dict[str, str | None]:
        return {
            "attempt_id": self.attempt_id,
            "request_id": self.request_id,
            "task_id": self.task_id,
            "session_id": self.session_id,
            "model_call_id": self.model_call_id,
        }


@dataclass(slots=True, kw_only=True)
class Attempt:
    """The reading of one attempt. Times are ns of ``clock_domain``; None means it was not seen.

    ``clock_error_ns`` bounds what they are off by on the run's own clock: 0 where that one stamped them.
    """

    ids: AttemptIds
    clock_domain: str
    clock_error_ns: int = 0
    phase: str | None = None
    segment: str | None = None
    case: str | None = None
    state: ClientState = ClientState.unfinalised
    failure: str | None = None
    decided_ns: int | None = None
    scheduled_ns: int | None = None
    unscheduled: Unscheduled = Unscheduled.not_recorded  # why ``scheduled_ns`` is None, if it is
    created_ns: int | None = None
    connect_start_ns: int | None = None
    connected_ns: int | None = None
    connection_reused: bool | None = None
    sent_ns: int | None = None
    headers_ns: int | None = None
    first_byte_ns: int | None = None
    body_end_ns: int | None = None
    gave_up_ns: int | None = None  # time-out, cancel or cut, whichever came first
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)  # those that its reader keeps
    retokenized: int | None = None  # tokens of the text by the pinned tokenizer
    retokenized_absent: str | None = None  # why there are none, if that was tried
    late_bytes: int = 0
    late_chunks: int = 0
    output_cap: int | None = None
    reply: ReplyReader = field(default_factory=ReplyReader)
    evidence: dict[str, str] = field(default_factory=dict)  # instant -> file:line
    _gaps_s: list[float] | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def attempt_id(self) -> str:
        return self.ids.attempt_id

    @property
    def done_ns(self) -> int | None:
        """``[DONE]``, else the end of the body."""
        marker = self.reply.done_marker_ns
        return marker if marker is not None else self.body_end_ns

    def content_gaps_s(self) -> list[float]:
        """Times between the content events that came before the client gave up, in s.

        Computed once: asked of an attempt that is read to its end.
        """
        if self._gaps_s is None:
            times = np.asarray(self.reply.chunk_times_ns, dtype=np.int64)
            if self.gave_up_ns is not None:
                times = times[times <= self.gave_up_ns]
            self._gaps_s = ((times[1:] - times[:-1]) / NS_PER_S).tolist()
        return self._gaps_s

    @property
    def start_ns(self) -> int | None:
        """The first instant known of this attempt on the client's side, the schedule apart."""
        known = [t for t in (self.created_ns, self.sent_ns, self.first_byte_ns) if t is not None]
        return min(known) if known else self.decided_ns

    @property
    def output_tokens(self) -> int | None:
        """Generated tokens: the ids that came, else the server's usage. Never a chunk count."""
        ids = self.reply.token_ids
        return ids if ids is not None else self.reply.usage_tokens

    @property
    def call_type(self) -> CallType:
        """Scoring calls and generations share no metric and no aggregate."""
        return self.reply.call_type

    @property
    def prompt_tokens(self) -> int | None:
        usage = self.reply.prompt_tokens
        return usage if usage is not None else self.reply.prompt_ids
