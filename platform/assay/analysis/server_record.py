"""What the server's side said of one attempt, gathered from events in one pass.

Only recorded facts enter. Instants are those of the component that saw them; nothing is copied from the
client, and a fact that was not recorded stays None.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from assay.analysis.clocks import Instant
from assay.analysis.errors import BadRecord
from assay.analysis.events import EventRecord, Fact
from runners.protocol.events import ServerState

_STATE_AFTER = {
    Fact.received: ServerState.received,
    Fact.queued: ServerState.queued,
    Fact.scheduled: ServerState.running,
    Fact.preempted: ServerState.queued,
    Fact.completed: ServerState.completed,
    Fact.cancelled: ServerState.cancelled,
    Fact.failed: ServerState.failed,
    Fact.rejected: ServerState.rejected,
}
HEAD = "head"
AGAIN = "sent again on the way, not by the client"
TERMINAL_STATES = frozenset(
    {ServerState.completed, ServerState.cancelled, ServerState.failed, ServerState.rejected}
)


@dataclass(frozen=True, slots=True)
class Seen:
    """A server state that began (or was observed) at an instant, with its evidence."""

    state: ServerState
    t_ns: int
    evidence: str | None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class KvChange:
    """Blocks taken (positive) or released (negative); ``level`` is the release level the engine named."""

    t_ns: int
    blocks: int
    level: str | None
    evidence: str | None


@dataclass(frozen=True, slots=True)
class Mark:
    t_ns: int
    evidence: str | None


@dataclass(slots=True)
class ServerRecord:
    """The server's record of one attempt, in one clock domain with one error bound (the largest seen)."""

    attempt_id: str
    clock_domain: str
    error_ns: int | None
    states: list[Seen] = field(default_factory=list)
    receptions: dict[str, int] = field(default_factory=dict)  # event name -> how often
    marks: dict[Fact, Mark] = field(default_factory=dict)  # first of each
    last_token: Mark | None = None
    last_write: Mark | None = None
    tokens: int = 0
    write_times_ns: "array[int]" = field(default_factory=lambda: array("q"))
    kv: list[KvChange] = field(default_factory=list)
    releases: list[tuple[str, Mark]] = field(default_factory=list)  # (level, where)
    lane: list[tuple[str, int, str | None]] = field(default_factory=list)  # (event, t, evidence)
    step_starts_ns: "array[int]" = field(default_factory=lambda: array("q"))
    step_durations_ns: "array[int]" = field(default_factory=lambda: array("q"))

    def instant(self, t_ns: int) -> Instant:
        return Instant(t_ns=t_ns, clock_domain=self.clock_domain, error_ns=self.error_ns)

    def time_of(self, fact: Fact) -> int | None:
        mark = self.marks.get(fact)
        return mark.t_ns if mark is not None else None

    @property
    def first_token_ns(self) -> int | None:
        return self.time_of(Fact.first_token)

    @property
    def deliveries(self) -> int:
        """How often one and the same component received this attempt; more than once: see ``AGAIN``."""
        return max(self.receptions.values(), default=0)

    @property
    def terminal(self) -> Seen | None:
        """The first terminal state the server recorded; of several deliveries, that of the last one."""
        ends = [s for s in self.states if s.state in TERMINAL_STATES]
        return ends[min(len(ends), max(1, self.deliveries)) - 1] if ends else None

    @property
    def end_ns(self) -> int | None:
        """The server's end of the call: the last write's own event, else the terminal state."""
        ended = self.time_of(Fact.stream_ended)
        if ended is not None:
            return ended
        return self.terminal.t_ns if self.terminal is not None else None

    def take(self, event: EventRecord, fact: Fact) -> None:
        """Enter one event of this attempt. A response head that was written is no first write of content."""
        mark = Mark(event.t_ns, event.evidence)
        if (
            fact is Fact.written
            and isinstance(event.value, dict)
            and event.value.get("part") == HEAD
        ):
            self.write_times_ns.append(event.t_ns)
            return
        first = fact not in self.marks
        if first:
            self.marks[fact] = mark
        if fact is Fact.written:
            self.write_times_ns.append(event.t_ns)
            self.last_write = mark
        elif fact in (Fact.token, Fact.first_token):
            self.tokens += fact is Fact.token or first
            self.last_token = mark
        elif fact is Fact.last_token:
            self.last_token = mark
        elif fact in (Fact.kv_taken, Fact.kv_released):
            self._take_kv(event, fact)
        elif fact is Fact.released:
            self.releases.append((str(event.value), mark))
        elif fact is Fact.state:
            self.states.append(
                Seen(_state_named(event), event.t_ns, event.evidence, "seen at this instant")
            )
        elif fact in _STATE_AFTER:
            words = self._delivered(event) if fact is Fact.received else _words(event.value)
            self.states.append(Seen(_STATE_AFTER[fact], event.t_ns, event.evidence, words))
        if (first or fact is Fact.last_token) and fact not in (Fact.token, Fact.state):
            self.lane.append((event.event, event.t_ns, event.evidence))

    def step(self, start_ns: int, duration_ns: int) -> None:
        """One iteration of the model loop that carried this attempt."""
        self.step_starts_ns.append(start_ns)
        self.step_durations_ns.append(duration_ns)

    def settle(self) -> None:
        """Bring states into time order; events of two processes may be written out of it."""
        self.states.sort(key=lambda s: s.t_ns)
        self.kv.sort(key=lambda k: k.t_ns)
        self.lane.sort(key=lambda m: m[1])

    def _delivered(self, event: EventRecord) -> str | None:
        """Words on a reception that is not the first one by the same component."""
        number = self.receptions[event.event] = self.receptions.get(event.event, 0) + 1
        return f"delivery {number} of this attempt: {AGAIN}" if number > 1 else None

    def _take_kv(self, event: EventRecord, fact: Fact) -> None:
        value = event.value if isinstance(event.value, dict) else {}
        blocks = value.get("blocks")
        count = (
            blocks if isinstance(blocks, int) else len(blocks) if isinstance(blocks, list) else 0
        )
        level = value.get("level")
        self.kv.append(
            KvChange(
                event.t_ns,
                count if fact is Fact.kv_taken else -count,
                level if isinstance(level, str) else None,
                event.evidence,
            )
        )


def _state_named(event: EventRecord) -> ServerState:
    try:
        return ServerState(str(event.value))
    except ValueError:
        raise BadRecord(
            field=f"{event.evidence or event.event} value",
            seen=repr(event.value),
            allowed=", ".join(ServerState),
            remedy="Name the server state that was seen.",
        ) from None


def _words(value: object) -> str | None:
    """What a state event added: its reason, or its plain value."""
    if isinstance(value, dict):
        reason = value.get("reason") or value.get("message") or value.get("error")
        return str(reason) if reason else None
    return str(value) if value is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSummary:
    """What all records show together. ``received`` are the attempts of which the server recorded a state.

    ``domains`` are the clock domains of the records, ``uncalibrated`` those not mapped onto the client's.
    """

    attempts: int
    events: int
    received: frozenset[str]
    domains: frozenset[str]
    uncalibrated: frozenset[str]
    shows_release: bool
    unjoined: int
    other_domains: Mapping[str, int]


class ServerRecords:
    """All server records of an input. ``unjoined`` counts events whose attempt is not in the wire.

    An attempt's record is of one clock domain, the first one seen; events of another are counted apart.
    ``only_try`` maps a request to its attempt where it has exactly one: an event that names the request alone
    is then of that attempt, and of none where there are several.
    """

    def __init__(self, known: Iterable[str], only_try: Mapping[str, str] | None = None) -> None:
        self._known = frozenset(known)
        self._only_try = only_try or {}
        self._records: dict[str, ServerRecord] = {}
        self.unjoined: dict[str, int] = {}
        self.other_domains: dict[str, int] = {}
        self.events = 0

    def take(self, event: EventRecord) -> None:
        """Enter one event; events without an attempt, or of the client, are counted and passed over."""
        self.events += 1
        fact = event.fact
        attempt_id = event.attempt_id or self._only_try.get(event.request_id or "")
        if fact is None or fact is Fact.client_mark or attempt_id is None:
            return
        if event.perspective == "client":
            return
        if attempt_id not in self._known:
            self.unjoined[attempt_id] = self.unjoined.get(attempt_id, 0) + 1
            return
        record = self.of(attempt_id, event.clock_domain, event.error_ns)
        if record.clock_domain != event.clock_domain:
            domain = event.clock_domain
            self.other_domains[domain] = self.other_domains.get(domain, 0) + 1
            return
        record.take(event, fact)

    def of(self, attempt_id: str, clock_domain: str, error_ns: int | None) -> ServerRecord:
        record = self._records.get(attempt_id)
        if record is None:
            record = ServerRecord(attempt_id, clock_domain, error_ns)
            self._records[attempt_id] = record
        elif error_ns is not None and (record.error_ns is None or error_ns > record.error_ns):
            record.error_ns = error_ns
        return record

    def get(self, attempt_id: str) -> ServerRecord | None:
        return self._records.get(attempt_id)

    def keep_only(self, attempt_ids: Iterable[str]) -> None:
        """Let go of the records of other attempts (warm-up, profile); what was counted stays counted."""
        self._records = {
            name: record for name in attempt_ids if (record := self._records.get(name)) is not None
        }

    def give(self, attempt_ids: Iterable[str]) -> dict[str, ServerRecord]:
        """The records of these attempts; they are held here no longer."""
        return {
            name: record
            for name in attempt_ids
            if (record := self._records.pop(name, None)) is not None
        }

    def summary(self) -> ServerSummary:
        records = self._records.values()
        return ServerSummary(
            attempts=len(records),
            events=self.events,
            received=frozenset(r.attempt_id for r in records if r.states),
            domains=frozenset(r.clock_domain for r in records),
            uncalibrated=frozenset(r.clock_domain for r in records if r.error_ns is None),
            shows_release=any(r.kv or r.releases or Fact.kv_released in r.marks for r in records),
            unjoined=len(self.unjoined),
            other_domains=dict(self.other_domains),
        )

    def settle(self) -> None:
        for record in self._records.values():
            record.settle()

    def __iter__(self) -> Iterator[ServerRecord]:
        return iter(self._records.values())

    def __len__(self) -> int:
        return len(self._records)
