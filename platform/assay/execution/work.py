"""Take runs from the queue and carry them out, one at a time on this machine."""

import time
from collections.abc import Callable, Collection
from uuid import UUID

from assay.archive.paths import Home
from assay.execution import leases, reaper
from assay.execution.machine import Worker, machine_holder, machine_to_itself
from assay.execution.procedure import Outcome, never, perform
from assay.execution.progress import Show, ignore
from assay.ledger.models import Run
from runners.protocol.documents import Progress
from runners.protocol.events import RunState

WAIT_S = 0.5


def work_off(
    worker: Worker,
    home: Home,
    *,
    queues: Collection[str],
    should_stop: Callable[[], bool] = never,
) -> list[Outcome]:
    """Carry out every eligible run in turn. Returns at once if this machine is busy with another."""
    outcomes: list[Outcome] = []
    with machine_to_itself(home) as ours:
        while ours and not should_stop():
            reaper.sweep(home)
            claim = leases.claim_next(worker, home=home, queues=queues)
            if claim is None:
                break
            outcomes.append(perform(claim, home, should_stop=should_stop))
    return outcomes


def work_on(
    run_id: UUID,
    worker: Worker,
    home: Home,
    *,
    queues: Collection[str],
    show: Show = ignore,
    should_stop: Callable[[], bool] = never,
) -> Outcome | None:
    """Carry out one run, waiting until this machine is free. None if somebody else has taken or ended it."""
    while not should_stop():
        with machine_to_itself(home) as ours:
            if ours:
                claim = leases.claim_next(worker, home=home, queues=queues, run_id=run_id)
                if claim is None:
                    return None
                return perform(claim, home, show=show, should_stop=should_stop)
        message = f"this machine is busy: {machine_holder(home)}"
        show(Progress(t="", phase="waiting", done=0, total=0, message=message))
        time.sleep(WAIT_S)
    return Outcome(state=RunState.aborted, exit_code=130, reason="stopped while waiting")


def queues_with_work() -> list[str]:
    """Queues in which an unreserved run waits."""
    waiting = Run.objects.filter(state=RunState.queued, cancel_requested=False, reserved_by="")
    return sorted(set(waiting.values_list("queue", flat=True)))
