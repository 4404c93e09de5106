"""A reading of a recorded stream: wire rows and the events beside it, in; the whole document, out."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from assay.analysis.absence import Absent
from assay.analysis.dependencies import DependencyLog, account
from assay.analysis.documents import InterpretationDocument
from assay.analysis.errors import BadRecord
from assay.analysis.events import EventRecord, Fact
from assay.analysis.interchange import event_records, read_attempts, wire_rows
from assay.analysis.interpretation import Inputs, WholeReading, assembled, read_whole
from assay.analysis.iterations import IterationLog
from assay.analysis.ledgers.contract import (
    IMPLIED,
    Contract,
    contract_of,
    require_stored_before,
)
from assay.analysis.levels import Levels
from assay.analysis.observing import MemoryLog
from assay.analysis.rates import ServiceLevels
from assay.analysis.retokenized import NO_TOKENIZER, TextCounter, retokenize
from assay.analysis.server_record import ServerRecords
from assay.analysis.window import Window
from assay.analysis.wire.attempt import Attempt
from assay.analysis.wire.declared import NOTHING_DECLARED, Declared
from runners.protocol.documents import Gap, IdentityItem

NO_LEVELS = ServiceLevels()
DEFAULT_LEVELS = Levels()

Lines = Iterable[str | bytes]


class RecordedStream:
    """The parsed parts of a recorded stream, each read once."""

    def __init__(
        self,
        wire: Lines,
        events: Lines = (),
        *,
        wire_file: str,
        events_file: str = "events.jsonl",
        pass_through: Callable[[Iterable[EventRecord]], Iterable[EventRecord]] = iter,
        declared: Declared = NOTHING_DECLARED,
        counter: TextCounter | Absent = NO_TOKENIZER,
    ) -> None:
        self.attempts: list[Attempt] = read_attempts(
            wire_rows(wire, file=wire_file), file=wire_file, declared=declared
        )
        retokenize(self.attempts, counter)
        if not self.attempts:
            raise BadRecord(
                field=wire_file,
                seen="no row",
                allowed="at least one row of one attempt",
                remedy="Give a recorded stream in the interchange form.",
            )
        self.records = ServerRecords(
            (a.attempt_id for a in self.attempts), only_try=_only_tries(self.attempts)
        )
        self.iterations = IterationLog({a.attempt_id: a.segment for a in self.attempts})
        self.memory = MemoryLog()
        self.dependencies = DependencyLog()
        self.client_events: list[EventRecord] = []
        self.contract: tuple[EventRecord, Contract] | None = None
        for event in pass_through(event_records(events, file=events_file)):
            self._take(event)
        self.records.settle()

    def _take(self, event: EventRecord) -> None:
        fact = event.fact
        self.records.take(event)
        self.iterations.take(event, self.records)
        self.memory.take(event)
        self.dependencies.take(event)
        if fact is Fact.contract:
            self._take_contract(event)
        elif event.perspective == "client":
            self.client_events.append(event)

    def _take_contract(self, event: EventRecord) -> None:
        if not isinstance(event.value, Mapping):
            raise BadRecord(
                field=f"{event.evidence} value",
                seen=repr(event.value),
                allowed="the contract as an object",
                remedy="Give name, deadline_s, required_branches, degradation, retry_allowed.",
            )
        starts = [
            a.start_ns
            for a in self.attempts
            if a.start_ns is not None and a.clock_domain == event.clock_domain
        ]
        if starts:
            require_stored_before(stored_ns=event.t_ns, run_started_ns=min(starts))
        self.contract = (event, contract_of(event.value))


def _only_tries(attempts: Iterable[Attempt]) -> dict[str, str]:
    """Requests that were tried exactly once, with that attempt."""
    tries: dict[str, list[str]] = {}
    for attempt in attempts:
        if attempt.ids.request_id is not None:
            tries.setdefault(attempt.ids.request_id, []).append(attempt.attempt_id)
    return {request: made[0] for request, made in tries.items() if len(made) == 1}


def interpret_recorded(
    stream: RecordedStream,
    *,
    slo: ServiceLevels = NO_LEVELS,
    window: Window | None = None,
    levels: Levels = DEFAULT_LEVELS,
) -> InterpretationDocument:
    """The reading of a stream that is no bundle, as one document."""
    return assembled(read_recorded(stream, slo=slo, window=window, levels=levels))


def read_recorded(
    stream: RecordedStream,
    *,
    slo: ServiceLevels = NO_LEVELS,
    window: Window | None = None,
    levels: Levels = DEFAULT_LEVELS,
    contract: Contract | None = None,
    gaps: Iterable[Gap] = (),
    identity: Iterable[IdentityItem] = (),
    bundle_digest: str | None = None,
    seed: int = 0,
    dependencies: Iterable[Mapping[str, Any]] = (),
) -> WholeReading:
    """Read a recorded stream. ``contract`` (of a bundle's declaration) goes before one among the events.

    ``dependencies`` are the declared ones; others that the events name are accounted beside them.
    """
    told = stream.contract[1] if stream.contract is not None else IMPLIED
    return read_whole(
        Inputs(
            attempts=stream.attempts,
            records=stream.records,
            dependencies=account(stream.dependencies.calls(), dependencies),
            iterations=stream.iterations,
            client_events=stream.client_events,
            contract=contract or told,
            slo=slo,
            levels=levels,
            block_bytes=stream.memory.block_bytes,
            identity=list(identity),
            given_gaps=list(gaps),
            window=window,
            seed=seed,
            bundle_digest=bundle_digest,
        )
    )
