"""The whole reading of one recorded run: attempts, ledgers, lanes, aggregates, ghost load, checks, gaps.

A pure function of its inputs: the same inputs give the same document, byte for byte (random parts are
seeded).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.analysis import lanes
from assay.analysis.absence import Absent
from assay.analysis.attempt_document import attempt_document
from assay.analysis.attempt_lanes import attempt_lanes
from assay.analysis.cancellation import cancel_checks
from assay.analysis.definition import DEFINITION_VERSION
from assay.analysis.documents import Aggregate, InterpretationDocument, Ledgers
from assay.analysis.events import EventRecord
from assay.analysis.gaps import merged, observation_gaps, release_known
from assay.analysis.ghost_load import ghost_load
from assay.analysis.group_aggregates import (
    LoadShape,
    choose_window,
    group_aggregates,
    group_of,
    iteration_aggregates,
    window_document,
)
from assay.analysis.iterations import IterationLog
from assay.analysis.ledgers.at import final_counts
from assay.analysis.ledgers.client import client_rows
from assay.analysis.ledgers.contract import IMPLIED, Contract
from assay.analysis.ledgers.resource import (
    ProcessRelease,
    Reached,
    levels_reached,
    resource_rows,
)
from assay.analysis.ledgers.server import server_rows
from assay.analysis.ledgers.task import by_task, task_rows
from assay.analysis.rates import ServiceLevels
from assay.analysis.reconciliation import reconcile
from assay.analysis.retries import observed_retries
from assay.analysis.server_record import ServerRecord, ServerRecords
from assay.analysis.window import Window
from assay.analysis.wire.attempt import Attempt
from runners.protocol.documents import Gap, IdentityItem
from runners.protocol.events import ReleaseLevel, ResourceLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """The resource level that limits what each side shows. An E0 archive stays E0 whatever its events say."""

    client: str = ResourceLimit.E1.value
    server: str = ResourceLimit.E2.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Everything a reading needs. ``attempts`` are those of the measured phase, in order of appearance.

    ``offered`` counts all planned requests of that phase, ``offered_load`` those of its load segment; None
    means that no plan is known. ``bundle_digest`` is None for a stream that is no bundle.
    """

    attempts: Sequence[Attempt]
    records: ServerRecords
    iterations: IterationLog | None = None
    client_events: Sequence[EventRecord] = ()
    contract: Contract = IMPLIED
    slo: ServiceLevels = field(default_factory=ServiceLevels)
    offered: int | None = None
    offered_load: int | None = None
    levels: Levels = field(default_factory=Levels)
    process_release: ProcessRelease | None = None
    block_bytes: int | None = None
    identity: Sequence[IdentityItem] = ()
    given_gaps: Sequence[Gap] = ()
    window: Window | None = None
    load: LoadShape = field(default_factory=LoadShape)
    seed: int = 0
    bundle_digest: str | None = None
    residuals: Sequence[dict[str, Any]] = ()
    unreadable_lines: int = 0
    origins_ns: Mapping[str, int] = field(default_factory=dict)


def interpret(inputs: Inputs) -> InterpretationDocument:
    """Read one run. Attempts keep their order; every list is in a fixed order."""
    attempts = inputs.attempts
    records = {r.attempt_id: r for r in inputs.records}
    reached = {
        a.attempt_id: levels_reached(records.get(a.attempt_id), _process_of(inputs, a))
        for a in attempts
    }
    ledgers = _ledgers(inputs, records, reached)
    marks = _client_marks(inputs.client_events)
    received = {a.attempt_id for a in attempts if (r := records.get(a.attempt_id)) and r.states}
    aggregates, window = _aggregates(inputs, records)
    return InterpretationDocument(
        definition_version=DEFINITION_VERSION,
        bundle_digest=inputs.bundle_digest,
        attempts=[attempt_document(a, records.get(a.attempt_id)) for a in attempts],
        aggregates=aggregates,
        ledgers=ledgers,
        reconciliation=reconcile(
            attempts, offered=inputs.offered, received=received if records else None
        ),
        lanes=[
            lane
            for a in attempts
            for lane in attempt_lanes(a, records.get(a.attempt_id), marks.get(a.attempt_id, ()))
        ],
        ghost_load=[
            found
            for a in attempts
            if (found := ghost_load(a, records.get(a.attempt_id), block_bytes=inputs.block_bytes))
        ],
        cancel_checks=[
            check
            for a in attempts
            for check in cancel_checks(a, records.get(a.attempt_id), reached[a.attempt_id])
        ],
        identity=list(inputs.identity),
        residuals=list(inputs.residuals),
        gaps=merged(
            inputs.given_gaps,
            observation_gaps(
                attempts,
                inputs.records,
                inputs.iterations,
                inputs.identity,
                release_known=release_known(inputs.records),
            ),
        ),
        ledger_counts={
            "client": final_counts(ledgers["client"]),
            "server": final_counts(ledgers["server"]),
            "task": final_counts(ledgers["task"]),
            "resource": final_counts(ledgers["resource"]),
        },
        contract=_contract_document(inputs.contract),
        retries=_retries_document(attempts),
        windows=[window_document(window)],
        origins_ns={domain: str(origin) for domain, origin in inputs.origins_ns.items()},
        observed={
            "attempts_with_server_record": len(received),
            "events": inputs.records.events,
            "iterations": len(inputs.iterations.steps) if inputs.iterations is not None else 0,
            "unreadable_lines": inputs.unreadable_lines,
        },
    )


def _aggregates(
    inputs: Inputs, records: Mapping[str, ServerRecord]
) -> tuple[list[Aggregate], Window | Absent]:
    """The aggregates of the group that a run is judged by, and the window of its rates."""
    group = group_of(
        inputs.attempts,
        client_level=inputs.levels.client,
        server_level=inputs.levels.server,
        seed=inputs.seed,
    )
    window = choose_window(group.attempts, inputs.load, inputs.window)
    aggregates = group_aggregates(
        group,
        records,
        window,
        asked=inputs.window,
        slo=inputs.slo,
        offered=inputs.offered_load if group.is_load else inputs.offered,
    )
    if inputs.iterations is not None:
        domain = _server_domain(records)
        aggregates += iteration_aggregates(inputs.iterations, group, clock_domain=domain)
    return aggregates, window


def _server_domain(records: Mapping[str, ServerRecord]) -> str:
    domains = {r.clock_domain for r in records.values()}
    return min(domains) if len(domains) == 1 else "several"


def _process_of(inputs: Inputs, attempt: Attempt) -> ProcessRelease | None:
    release = inputs.process_release
    return release if release is not None and release.clock_domain == attempt.clock_domain else None


def _ledgers(
    inputs: Inputs,
    records: Mapping[str, ServerRecord],
    reached: Mapping[str, dict[ReleaseLevel, Reached]],
) -> Ledgers:
    levels = inputs.levels
    found = Ledgers(client=[], server=[], task=[], resource=[])
    for attempt in inputs.attempts:
        record = records.get(attempt.attempt_id)
        seen_at = levels.server if record is not None else levels.client
        found["client"] += client_rows(attempt, level=levels.client)
        found["server"] += server_rows(attempt, record, level=seen_at)
        found["resource"] += resource_rows(
            attempt, record, reached[attempt.attempt_id], level=seen_at
        )
    for task_id, attempts in by_task(inputs.attempts).items():
        found["task"] += task_rows(task_id, attempts, inputs.contract, level=levels.client)
    return found


def _client_marks(events: Sequence[EventRecord]) -> dict[str, list[lanes.Mark]]:
    """The client's own event records by attempt; of several clock domains only the first is a lane."""
    found: dict[str, list[lanes.Mark]] = {}
    for event in events:
        if event.attempt_id is None:
            continue
        marks = found.setdefault(event.attempt_id, [])
        if not marks or marks[0].clock_domain == event.clock_domain:
            marks.append(
                lanes.Mark(
                    event=event.event,
                    t_ns=event.t_ns,
                    clock_domain=event.clock_domain,
                    perspective=event.perspective,
                    evidence=event.evidence,
                )
            )
    return found


def _contract_document(contract: Contract) -> dict[str, Any]:
    return {
        "name": contract.name,
        "origin": contract.origin,
        "deadline_s": contract.deadline_s,
        "required_branches": contract.required_branches,
        "all_branches_required": contract.all_branches_required,
        "degradation": contract.degradation,
        "retry_allowed": contract.retry_allowed,
        "success": contract.success.value,
    }


def _retries_document(attempts: Sequence[Attempt]) -> dict[str, Any]:
    seen = observed_retries(attempts)
    return {
        "requests": seen.requests,
        "attempts": seen.attempts,
        "attempts_per_request": seen.attempts_per_request,
        "rounds": [
            {
                "round": r.number,
                "attempts": r.attempts,
                "failed": r.failed,
                "failure_rate": r.failure_rate,
            }
            for r in seen.rounds
        ],
    }
