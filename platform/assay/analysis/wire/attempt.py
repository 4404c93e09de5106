"""One attempt as the client saw it: its ids, its instants, its reply, its final state.

``AttemptReader`` takes marks and reads in the order in which they were recorded, so that a stream of any
length is read once and never held.
"""

from dataclasses import dataclass, field

from assay.analysis.errors import BadRecord
from assay.analysis.wire.declared import NOTHING_DECLARED, Declared
from assay.analysis.wire.http import ResponseParser
from assay.analysis.wire.outcome import Outcome, ReplyFacts, outcome
from assay.analysis.wire.stream import ReplyReader
from assay.analysis.wire.unscheduled import Unscheduled
from experiments.schema.workload import CallType
from runners.protocol.events import ClientState, WireKind

# Response headers that say who answered, how the body was wrapped, and how a relayed call ended.
_KEPT_HEADERS = (
    "server",
    "via",
    "content-type",
    "content-encoding",
    "retry-after",
    "grpc-status",
    "grpc-message",
)


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
    """The reading of one attempt. Times are ns of ``clock_domain``; None means it was not seen."""

    ids: AttemptIds
    clock_domain: str
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
    headers: dict[str, str] = field(default_factory=dict)  # those of ``_KEPT_HEADERS`` that came
    retokenized: int | None = None  # tokens of the text by the pinned tokenizer
    retokenized_absent: str | None = None  # why there are none, if that was tried
    late_bytes: int = 0
    late_chunks: int = 0
    output_cap: int | None = None
    reply: ReplyReader = field(default_factory=ReplyReader)
    evidence: dict[str, str] = field(default_factory=dict)  # instant -> file:line

    @property
    def attempt_id(self) -> str:
        return self.ids.attempt_id

    @property
    def done_ns(self) -> int | None:
        """``[DONE]``, else the end of the body."""
        marker = self.reply.done_marker_ns
        return marker if marker is not None else self.body_end_ns

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


class AttemptReader:
    """Builds an ``Attempt`` from its marks and reads. ``raw_http`` reads hold the whole HTTP response."""

    __slots__ = ("_cut", "_http", "_timeout", "attempt", "cancel_ns", "closed_ns", "last_t_ns")

    def __init__(
        self, ids: AttemptIds, clock_domain: str, declared: Declared = NOTHING_DECLARED
    ) -> None:
        self.attempt = Attempt(ids=ids, clock_domain=clock_domain, reply=ReplyReader(declared))
        self._http: ResponseParser | None = None
        self._cut: tuple[int, str | None] | None = None
        self._timeout: tuple[int, str | None] | None = None
        self.cancel_ns: int | None = None
        self.closed_ns: int | None = None
        self.last_t_ns: int | None = None

    def mark(
        self,
        kind: WireKind,
        t_ns: int,
        *,
        status: int | None = None,
        detail: str | None = None,
        evidence: str | None = None,
    ) -> None:
        """Take an instant that carries no body bytes. The first mark of a kind stands."""
        attempt = self.attempt
        if evidence is not None:
            attempt.evidence.setdefault(kind.value, evidence)
        if status is not None and attempt.status is None:
            attempt.status = status
        if kind is WireKind.closed:
            if self.closed_ns is None:
                self.closed_ns = t_ns
        elif kind is WireKind.cancel:
            self.cancel_ns = t_ns if self.cancel_ns is None else self.cancel_ns
            self._gave_up(t_ns)
        elif kind is WireKind.timeout:
            self._timeout = self._timeout or (t_ns, detail)
            self._gave_up(t_ns)
        elif kind is WireKind.error:
            self._cut = self._cut or (t_ns, detail)
            self._gave_up(t_ns)
        elif kind is WireKind.headers:
            self._response_byte(t_ns)
            attempt.headers_ns = t_ns if attempt.headers_ns is None else attempt.headers_ns
        else:
            name = f"{kind.value}_ns"
            if getattr(attempt, name) is None:
                setattr(attempt, name, t_ns)

    def read(self, t_ns: int, data: bytes, *, raw_http: bool) -> None:
        """Take bytes that arrived at ``t_ns``; arrivals of one attempt must not go back in time."""
        if self.last_t_ns is not None and t_ns < self.last_t_ns:
            raise BadRecord(
                field=f"t_ns of a read of {self.attempt.attempt_id}",
                seen=str(t_ns),
                allowed=f"at least {self.last_t_ns}, the read before it",
                remedy="Write the reads of an attempt in the order in which they arrived.",
            )
        self.last_t_ns = t_ns
        attempt = self.attempt
        if attempt.first_byte_ns is None and data:
            attempt.first_byte_ns = t_ns
        take = self._take_response if raw_http else attempt.reply.read
        if attempt.gave_up_ns is None or t_ns <= attempt.gave_up_ns:
            take(t_ns, data)
            return
        chunks = len(attempt.reply.chunk_times_ns)
        take(t_ns, data)
        attempt.late_bytes += len(data)
        attempt.late_chunks += len(attempt.reply.chunk_times_ns) - chunks

    def finish(self) -> Attempt:
        """Settle the end of the body and the final state."""
        attempt, http = self.attempt, self._http
        if http is not None:
            self._settle_framing(http)
        elif attempt.body_end_ns is None and self.closed_ns is not None:
            attempt.body_end_ns = self.closed_ns
        if attempt.body_end_ns is not None:
            attempt.reply.end()
        attempt.reply.settle()
        verdict = self._outcome()
        attempt.state, attempt.failure = verdict.state, verdict.failure
        attempt.decided_ns = verdict.decided_ns
        return attempt

    def _take_response(self, t_ns: int, data: bytes) -> None:
        attempt = self.attempt
        http = self._http
        if http is None:
            http = self._http = ResponseParser()
        was_complete = http.complete
        body = http.feed(data)
        if attempt.headers_ns is None and http.status is not None:
            attempt.headers_ns, attempt.status = t_ns, http.status
        if body:
            attempt.reply.read(t_ns, body)
        if http.complete and not was_complete:
            attempt.body_end_ns = t_ns

    def _settle_framing(self, http: ResponseParser) -> None:
        """A raw response: a close ends a body without length, and cuts one whose framing wanted more."""
        closed = self.closed_ns
        if self.attempt.body_end_ns is not None or closed is None or http.problem is not None:
            return
        if http.until_close:
            self.attempt.body_end_ns = closed
        elif self._cut is None:
            self._cut = (closed, "closed before the end of the body")
            self._gave_up(closed)

    def _outcome(self) -> Outcome:
        attempt, reply, http = self.attempt, self.attempt.reply, self._http
        problem = reply.problem
        broken_ns = None
        if http is not None:
            undecoded = http.end()
            problem = http.problem or undecoded or problem
            broken_ns = self.last_t_ns if http.problem else None
            if http.status is not None:
                attempt.headers = {k: http.headers[k] for k in _KEPT_HEADERS if k in http.headers}
        status_ns = attempt.headers_ns if attempt.headers_ns is not None else attempt.first_byte_ns
        return outcome(
            ReplyFacts(
                sent_ns=attempt.sent_ns,
                status=attempt.status,
                status_ns=status_ns if status_ns is not None else self.closed_ns,
                first_content_ns=reply.first_content_ns,
                any_response_bytes=attempt.first_byte_ns is not None,
                error_event_ns=reply.error_ns,
                error_words=reply.error_words,
                error_type=reply.error_type,
                headers=attempt.headers,
                error_body=reply.error_body() if (attempt.status or 200) >= 300 else "",
                body_end_ns=attempt.body_end_ns,
                finish_reason=reply.finish_reason,
                finish_words=reply.finish_words,
                done_marker=reply.done_marker_ns is not None or reply.scored is not None,
                problem=problem,
                broken_ns=broken_ns,
                timeout_ns=self._timeout[0] if self._timeout else None,
                timeout_detail=self._timeout[1] if self._timeout else None,
                cancel_ns=self.cancel_ns,
                cut_ns=self._cut[0] if self._cut else None,
                cut_detail=self._cut[1] if self._cut else None,
                connection_reused=attempt.connection_reused,
            )
        )

    def _response_byte(self, t_ns: int) -> None:
        first = self.attempt.first_byte_ns
        if first is None or t_ns < first:
            self.attempt.first_byte_ns = t_ns

    def _gave_up(self, t_ns: int) -> None:
        known = self.attempt.gave_up_ns
        if known is None or t_ns < known:
            self.attempt.gave_up_ns = t_ns
