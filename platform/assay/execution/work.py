"""Take runs from the queue and carry them out, one at a time on this machine."""

import time
from collections.abc import Callable
from uuid import UUID

from assay.archive.paths import Home
from assay.execution import leases, load_carrying, load_shares, load_workers, reaper
from assay.execution.device_leases import DevicesBusy
from assay.execution.leases import Claim
from assay.execution.machine import Worker, machine_holder, machine_to_itself
from assay.execution.offers import Offer
from assay.execution.procedure import Outcome, never, perform
from assay.execution.progress import Show, ignore
from runners.protocol.documents import Progress
from runners.protocol.events import RunState

WAIT_S = 0.5


def work_off(
    worker: Worker,
    home: Home,
    *,
    offer: Offer,
    should_stop: Callable[[], bool] = never,
) -> list[Outcome]:
    """Carry out every eligible run in turn. Returns at once if this machine is busy with another."""
    outcomes: list[Outcome] = []
    with machine_to_itself(home) as ours:
        while ours and not should_stop():
            reaper.sweep(home)
            if _sent_a_share(worker, home, offer=offer, should_stop=should_stop):
                continue
            claim = leases.claim_next(worker, home=home, offer=offer)
            if claim is None:
                break
            outcomes.append(perform(claim, home, should_stop=should_stop))
    return outcomes


def _sent_a_share(
    worker: Worker, home: Home, *, offer: Offer, should_stop: Callable[[], bool]
) -> bool:
    """Shares of a load come first: another machine holds its devices for them."""
    if load_workers.QUEUE not in offer.queues:
        return False
    share = load_shares.claim_next(worker, home=home, offer=offer)
    if share is None:
        return False
    load_carrying.carry(share, should_stop=should_stop)
    return True


def work_on(
    run_id: UUID,
    worker: Worker,
    home: Home,
    *,
    offer: Offer,
    show: Show = ignore,
    should_stop: Callable[[], bool] = never,
) -> Outcome | None:
    """Carry out one run, waiting until this machine is free. None if somebody else has taken or ended it."""
    while not should_stop():
        with machine_to_itself(home) as ours:
            try:
                claim = _claimed(run_id, worker, home, offer=offer, ours=ours)
            except DevicesBusy as busy:
                message = f"this machine is busy: {busy}"
            else:
                if claim is None:
                    return None
                return perform(claim, home, show=show, should_stop=should_stop)
        show(Progress(t="", phase="waiting", done=0, total=0, message=message))
        time.sleep(WAIT_S)
    return Outcome(state=RunState.aborted, exit_code=130, reason="stopped while waiting")


def _claimed(run_id: UUID, worker: Worker, home: Home, *, offer: Offer, ours: bool) -> Claim | None:
    """The claim if the machine is ours and its devices are free. Raises DevicesBusy with who holds them."""
    if not ours:
        raise DevicesBusy(machine_holder(home))
    try:
        return leases.claim_run(run_id, worker, home=home, offer=offer)
    except DevicesBusy:
        reaper.expire_dead_workers()  # what a dead one holds is free after the sweep
        reaper.sweep(home)
        raise


def queues_with_work() -> list[str]:
    """Queues in which an unreserved run waits, or a share of a run's load."""
    queues = {need.queue for need in leases.needs_with_work()}
    if load_shares.waiting_to_be_claimed().exists():
        queues.add(load_workers.QUEUE)
    return sorted(queues)
