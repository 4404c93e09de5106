"""Can this load be shared by several client processes? Rules that count over all requests cannot.

Nor can requests that follow others be sent by a load worker: what they wait for is stamped by one clock.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from experiments.errors import Finding
from experiments.schema.workload import Structure

MAX_PROCESSES = 64
# Each process would judge its own part: a count or a share over all of them is nobody's.
_JOINT_RULES = ("max_requests", "max_errors", "max_error_share", "saturation")


def check(load: Mapping[str, Any]) -> Iterator[Finding]:
    """Everything that keeps ``load.processes`` from being as declared."""
    processes = load["processes"]
    if not 1 <= processes <= MAX_PROCESSES:
        yield _wrong(processes, f"1 to {MAX_PROCESSES}", "Say how many client processes send.")
        return
    if processes == 1:
        return
    concurrency = load["concurrency"]
    if concurrency is not None and concurrency < processes:
        yield _wrong(
            processes, f"at most load.concurrency ({concurrency})", "Every process needs a slot."
        )
    yield from _stages(load["stages"], processes)
    joint = [f"load.stop.{name}" for name in _JOINT_RULES if load["stop"][name] is not None]
    joint += [
        f"load.stages.{n}.requests"
        for n, stage in enumerate(load["stages"])
        if stage["concurrency"] is not None and stage["requests"] is not None
    ]
    joint += ["load.retry.give_up"] if load["retry"]["give_up"] == "budget" else []
    for rule in joint:
        yield _wrong(
            processes, f"1 with {rule}", "One process must see every request for that rule."
        )


def check_workers(load: Mapping[str, Any], workload: Mapping[str, Any]) -> Iterator[Finding]:
    """Everything that keeps ``load.workers`` from being as declared."""
    workers, processes = load["workers"], load["processes"]
    if not 0 <= workers <= processes:
        yield Finding(
            field="load.workers",
            seen=str(workers),
            allowed=f"0 to load.processes ({processes})",
            remedy="Each load worker sends for one of the processes: raise load.processes, or ask for "
            "fewer load workers.",
        )
    follows = workload["structure"] != Structure.single_turn or workload["structured"] is not None
    if workers > 0 and follows:
        yield Finding(
            field="load.workers",
            seen=str(workers),
            allowed="0 where requests follow others (workload.structure, workload.structured)",
            remedy="Send such a load from the machine that carries out the run.",
        )


def _stages(stages: Sequence[Mapping[str, Any]], processes: int) -> Iterator[Finding]:
    for number, stage in enumerate(stages):
        slots = stage["concurrency"]
        if slots is not None and slots < processes:
            allowed = f"at most load.stages.{number}.concurrency ({slots})"
            yield _wrong(processes, allowed, "Every process needs a slot in every stage.")


def _wrong(seen: int, allowed: str, remedy: str) -> Finding:
    return Finding(field="load.processes", seen=str(seen), allowed=allowed, remedy=remedy)
