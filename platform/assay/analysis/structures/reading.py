"""The door of this package: take each attempt while its words are at hand, then read tasks and workload."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from assay.analysis.documents import LedgerRow
from assay.analysis.ledgers.contract import Contract
from assay.analysis.ledgers.task import PlannedTask
from assay.analysis.structures.answers import AnswerFacts, answer_facts
from assay.analysis.structures.planned import WorkloadFacts, planned_task
from assay.analysis.task_documents import TaskReading, WorkloadReading
from assay.analysis.wire.attempt import Attempt


class WorkloadReader:
    """Without facts (a stream recorded elsewhere, a bundle without a plan) it reads nothing."""

    def __init__(self, facts: WorkloadFacts | None = None) -> None:
        self._facts = facts
        self._answers: dict[str, AnswerFacts] = {}

    def take(self, attempt: Attempt) -> None:
        """Note what an attempt's words are worth; they may be dropped afterwards."""
        if self._facts is None:
            return
        planned = self._facts.requests.get(attempt.ids.request_id or "")
        found = answer_facts(attempt, planned)
        if found is not None:
            self._answers[attempt.attempt_id] = found

    def of_requests(self, request_ids: Collection[str | None]) -> "WorkloadReader":
        """A reader of some requests' attempts alone, in another process: give it back to ``extend``."""
        if self._facts is None:
            return self
        requests = self._facts.requests
        chosen = {k: requests[k] for k in request_ids if k is not None and k in requests}
        return WorkloadReader(replace(self._facts, requests=chosen))

    def extend(self, other: "WorkloadReader") -> None:
        """Enter what another reader took."""
        self._answers.update(other._answers)

    def planned_tasks(self) -> Mapping[str, PlannedTask]:
        """How the requests of each task count for its contract, for the task ledger."""
        if self._facts is None:
            return {}
        return {name: planned_task(own) for name, own in self._facts.by_task().items()}

    @property
    def unplanned(self) -> frozenset[str]:
        """Requests of no plan: answers asked for again while the run went."""
        if self._facts is None:
            return frozenset()
        return frozenset(
            r.request_id for r in self._facts.requests.values() if r.regeneration_of is not None
        )

    @property
    def superseded(self) -> frozenset[str]:
        """Requests whose answers were asked for again: all of a chain but its last."""
        if self._facts is None:
            return frozenset()
        last: dict[str, str] = {}
        again = [r for r in self._facts.requests.values() if r.regeneration_of is not None]
        for request in sorted(again, key=lambda r: (r.ready_ns or 0, r.request_id)):
            last[request.regeneration_of or ""] = request.request_id
        asked = {name for r in again for name in (r.request_id, r.regeneration_of) if name}
        return frozenset(asked - set(last.values()))

    def read(
        self,
        attempts: Sequence[Attempt],
        ledger: Sequence[Sequence[LedgerRow]],
        contract: Contract,
    ) -> tuple[list[TaskReading], WorkloadReading | None]:
        """Tasks in the plan's order, and the figures over them. ``ledger``: the rows of each task."""
        if self._facts is None:
            return [], None
        # The work of calls needs the performance model: a tenth of a second that single requests do without.
        from assay.analysis.structures.tasks import task_readings
        from assay.analysis.structures.workload import workload_reading

        final = {rows[-1]["subject"]: rows[-1] for rows in ledger if rows}
        tasks = task_readings(self._facts, attempts, self._answers, final, contract)
        return tasks, workload_reading(self._facts, tasks)
