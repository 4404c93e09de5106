"""What is said of a run as a whole, from what was gathered while its attempts were read one by one."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from assay.analysis.attempt_parts import AttemptParts
from assay.analysis.columns import values
from assay.analysis.counters.checks import differences
from assay.analysis.counters.documents import CounterReading
from assay.analysis.definition import DEFINITION_VERSION
from assay.analysis.dependencies import DependencyAccount
from assay.analysis.documents import LEDGERS, Aggregate, LedgerRow, RunReading
from assay.analysis.energy.figures import Metering, with_energy
from assay.analysis.figures import Figures
from assay.analysis.gaps import merged, observation_gaps
from assay.analysis.grade import grade, grade_document
from assay.analysis.group_aggregates import (
    Group,
    group_aggregates,
    group_of,
    groups_by_call_type,
    iteration_aggregates,
)
from assay.analysis.iterations import IterationLog
from assay.analysis.kept import KeptAttempts
from assay.analysis.ledgers.contract import IMPLIED, Contract
from assay.analysis.ledgers.server import sent_again
from assay.analysis.ledgers.task import PlannedTask, task_rows
from assay.analysis.levels import Levels
from assay.analysis.load_windows import LoadShape, LoadWindow, known_to, load_windows
from assay.analysis.memory_layers import memory_layers
from assay.analysis.rates import ServiceLevels
from assay.analysis.reconciliation import reconcile
from assay.analysis.rejections import rejections
from assay.analysis.residual.state_columns import StateColumns
from assay.analysis.resources.documents import ResourceReading
from assay.analysis.retries import observed_retries, retries_document
from assay.analysis.server_record import ServerRecord, ServerSummary
from assay.analysis.shelf import Shelf
from assay.analysis.stream_diagnosis import places_of
from assay.analysis.structures.reading import WorkloadReader
from assay.analysis.task_documents import TaskReading
from assay.analysis.tries import by_task
from assay.analysis.window import Window
from assay.analysis.window_rates import window_document, window_gaps
from assay.analysis.wire.attempt import Attempt
from runners.protocol.documents import Gap, IdentityItem


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInputs:
    """What a reading needs of the run beside its attempts.

    ``offered`` counts all planned requests of the measured phase, ``offered_load`` those of its load segment;
    None means that no plan is known. ``bundle_digest`` is None for a stream that is no bundle.
    """

    iterations: IterationLog | None = None
    contract: Contract = IMPLIED
    slo: ServiceLevels = field(default_factory=ServiceLevels)
    offered: int | None = None
    offered_load: int | None = None
    levels: Levels = field(default_factory=Levels)
    identity: Sequence[IdentityItem] = ()
    given_gaps: Sequence[Gap] = ()
    window: Window | None = None
    load: LoadShape = field(default_factory=LoadShape)
    seed: int = 0
    bundle_digest: str | None = None
    residuals: Sequence[dict[str, Any]] = ()
    state_columns: Sequence[StateColumns] = ()
    dependencies: Sequence[DependencyAccount] = ()
    unreadable_lines: int = 0
    origins_ns: Mapping[str, int] = field(default_factory=dict)
    context_location: str | None = None  # as the workload declares it
    client_error: Mapping[str, Any] = field(default_factory=dict)  # as ``clocks.json`` has it
    resources: ResourceReading | None = None
    metering: Metering | None = None
    counters: CounterReading | None = None

    def sent_on_purpose(self, planned: int | None) -> int | None:
        """Planned requests without those that the load never meant to send."""
        return None if planned is None else planned - self.load.withheld


def _no_ends() -> dict[str, Counter[str]]:
    return {ledger: Counter() for ledger in LEDGERS}


@dataclass(slots=True, kw_only=True)
class TaskEnds:
    """How tasks ended: how many in which state; where tasks are read one by one, the last row of each."""

    are_read: bool
    states: Counter[str] = field(default_factory=Counter)
    last_rows: list[list[LedgerRow]] = field(default_factory=list)

    def noted(self, tasks: Iterable[list[LedgerRow]]) -> Iterator[list[LedgerRow]]:
        """Pass the rows of each task on and note how it ended."""
        for rows in tasks:
            self.states[rows[-1]["state"]] += 1
            if self.are_read:
                self.last_rows.append(rows[-1:])
            yield rows


@dataclass(slots=True, kw_only=True)
class Gathered:
    """What a run's attempts leave behind: themselves (without words), their figures, and how they ended."""

    attempts: KeptAttempts = field(default_factory=KeptAttempts)
    figures: Figures = field(default_factory=Figures)
    ends: dict[str, Counter[str]] = field(default_factory=_no_ends)  # final states by ledger
    again: int = 0  # deliveries to the server beyond the first of an attempt
    paces: Counter[str] = field(default_factory=Counter)  # where streams lost their pace

    @classmethod
    def on(cls, shelf: Shelf) -> "Gathered":
        """Of a run of any length: what grows with its events lies on the shelf."""
        return cls(attempts=KeptAttempts(shelf), figures=Figures(samples=shelf.column("d")))

    def take(self, attempt: Attempt, record: ServerRecord | None, parts: AttemptParts) -> None:
        """Enter one attempt, whose parts are read."""
        self.attempts.take(attempt)
        self.figures.take(attempt, record, parts.reading["metrics"])
        self.ends["client"][parts.client[-1]["state"]] += 1
        self.ends["server"][parts.server[-1]["state"]] += 1
        self.ends["resource"][parts.resource[-1]["state"]] += 1
        self.again += sent_again(parts.server)
        self.paces.update(places_of(attempt, record))

    def extend(self, other: "Gathered") -> None:
        """Enter the attempts of another batch after one's own."""
        self.attempts.extend(other.attempts)
        self.figures.extend(other.figures)
        for ledger, counts in other.ends.items():
            self.ends[ledger].update(counts)
        self.again += other.again
        self.paces.update(other.paces)


def task_ledger(
    attempts: Sequence[Attempt],
    contract: Contract,
    *,
    level: str,
    planned: Mapping[str, PlannedTask] = MappingProxyType({}),
) -> Iterator[list[LedgerRow]]:
    """The rows of each task, in order of first appearance. ``planned``: its requests in the plan."""
    for task_id, own in by_task(attempts):
        yield task_rows(task_id, own, contract, level=level, planned=planned.get(task_id))


def run_reading(
    inputs: RunInputs,
    gathered: Gathered,
    server: ServerSummary,
    tasks: TaskEnds,
    workload: WorkloadReader,
    shelf: Shelf | None = None,
) -> tuple[RunReading, list[TaskReading]]:
    """The run, and each task of its plan. Every list is in a fixed order."""
    attempts = gathered.attempts
    group = group_of(
        attempts,
        client_level=inputs.levels.client,
        server_level=inputs.levels.server,
        seed=inputs.seed,
        superseded=workload.superseded,
        unplanned=workload.unplanned,
    )
    windows = known_to(
        load_windows(group.attempts, inputs.load, inputs.window),
        max(values(group.attempts, "clock_error_ns"), default=0),
    )
    aggregates = _aggregates(inputs, gathered, group, windows, server.domains, shelf)
    resources, of_energy = with_energy(
        inputs.resources, inputs.metering, group.attempts, windows[0].window, group.scope
    )
    aggregates += of_energy
    ends = {**gathered.ends, "task": tasks.states}
    task_readings, workload_reading = workload.read(attempts, tasks.last_rows, inputs.contract)
    run = RunReading(
        definition_version=DEFINITION_VERSION,
        bundle_digest=inputs.bundle_digest,
        aggregates=aggregates,
        reconciliation=reconcile(
            attempts,
            offered=inputs.sent_on_purpose(inputs.offered),
            received=server.received if server.attempts else None,
            again=gathered.again,
            unplanned=workload.unplanned,
        ),
        grade=grade_document(grade(inputs.client_error, inputs.identity)),
        identity=list(inputs.identity),
        residuals=list(inputs.residuals),
        state_columns=list(inputs.state_columns),
        gaps=merged(
            inputs.given_gaps,
            window_gaps(group.attempts, windows),
            observation_gaps(attempts, server, inputs.iterations, inputs.identity),
        ),
        dependencies=list(inputs.dependencies),
        stream_pace=dict(sorted(gathered.paces.items())),
        memory_layers=memory_layers(attempts, context_location=inputs.context_location),
        ledger_counts={ledger: dict(counts) for ledger, counts in ends.items()},
        contract=_contract_document(inputs.contract),
        retries=retries_document(observed_retries(attempts)),
        workload=workload_reading,
        windows=[window_document(group.attempts, one) for one in windows],
        origins_ns={domain: str(origin) for domain, origin in inputs.origins_ns.items()},
        observed={
            "attempts_with_server_record": len(server.received),
            "events": server.events,
            "iterations": inputs.iterations.count if inputs.iterations is not None else 0,
            "unreadable_lines": inputs.unreadable_lines,
            "uncalibrated_domains": sorted(
                server.uncalibrated - set(values(attempts, "clock_domain"))
            ),
            "rejections": rejections(attempts),
        },
        resources=resources,
        counters=inputs.counters,
    )
    if inputs.counters is not None:
        run["reconciliation"]["differences"] += differences(inputs.counters["checks"])
    return run, task_readings


def _aggregates(
    inputs: RunInputs,
    gathered: Gathered,
    group: Group,
    windows: Sequence[LoadWindow],
    server_domains: Collection[str],
    shelf: Shelf | None,
) -> list[Aggregate]:
    """The aggregates of the group that a run is judged by, each type of call apart.

    With several types, how many were offered of each is what was sent: the plan's counts are of all.
    """
    offered = inputs.sent_on_purpose(inputs.offered_load if group.is_load else inputs.offered)
    groups = groups_by_call_type(group)
    aggregates: list[Aggregate] = []
    for own in groups:
        aggregates += group_aggregates(
            own,
            gathered.figures,
            windows,
            asked=inputs.window,
            slo=inputs.slo,
            offered=offered if len(groups) == 1 else None,
            shelf=shelf,
        )
    if inputs.iterations is not None:
        domain = min(server_domains) if len(server_domains) == 1 else "several"
        aggregates += iteration_aggregates(inputs.iterations, group, clock_domain=domain)
    return aggregates


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
