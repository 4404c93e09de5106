"""Reads one attempt: marks and reads in the order in which they were recorded, in; the attempt, out.

A stream of any length is read once and never held.
"""

from collections.abc import Sequence

from assay.analysis.errors import BadRecord
from assay.analysis.wire.attempt import Attempt, AttemptIds
from assay.analysis.wire.declared import NOTHING_DECLARED, Declared
from assay.analysis.wire.http import ResponseParser
from assay.analysis.wire.outcome import Outcome, ReplyFacts, outcome
from assay.analysis.wire.stream import ReplyReader
from runners.protocol.events import WireKind

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

    def read_responses(self, times_ns: Sequence[int], reads: Sequence[bytes]) -> None:
        """Take consecutive reads of a whole HTTP response: what ``read`` would take one by one."""
        gave_up = self.attempt.gave_up_ns
        in_order = list(times_ns) == sorted(times_ns)
        in_time = not times_ns or gave_up is None or times_ns[-1] <= gave_up
        place = 0
        if in_order and in_time:
            place = self._read_head(times_ns, reads)
            place += self._read_body(times_ns[place:], reads[place:])
        for t_ns, data in zip(times_ns[place:], reads[place:], strict=True):
            self.read(t_ns, data, raw_http=True)

    def _read_head(self, times_ns: Sequence[int], reads: Sequence[bytes]) -> int:
        """Reads up to that which completes the head, at least one; how many they are."""
        for place, (t_ns, data) in enumerate(zip(times_ns, reads, strict=True), start=1):
            self.read(t_ns, data, raw_http=True)
            if self._http is not None and self._http.status is not None:
                return place
        return len(reads)

    def _read_body(self, times_ns: Sequence[int], reads: Sequence[bytes]) -> int:
        """Reads of the body, all in order and before the client gave up; how many were taken."""
        http = self._http
        if not reads or http is None or http.complete or http.problem is not None:
            return 0
        times, bodies, fed = http.feed_each(times_ns, reads)
        self.attempt.reply.read_many(times, bodies)
        if fed:
            self.last_t_ns = times_ns[fed - 1]
            if http.complete:
                self.attempt.body_end_ns = self.last_t_ns
        return fed

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
