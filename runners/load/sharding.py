"""Split one plan over several client processes, always in the same way.

What belongs together stays together: the rows of a slot, a session, a task, and requests that follow others.
Such groups are dealt out in turn, in the order of their first row. Times are kept as they are. In a closed
loop of stages, whose slots come and go, slot s is of process s modulo their number, and the pool of requests
is dealt out over the slots, so that a process with more slots has as many more requests.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runners.load.schedule import is_closed

Row = Mapping[str, Any]


def shards(rows: Sequence[Row], load: Mapping[str, Any], processes: int) -> list[list[Row]]:
    """The rows of each process, in plan order. A process beyond the number of groups gets none."""
    found: list[list[Row]] = [[] for _ in range(processes)]
    slots = max(stage["concurrency"] for stage in load["stages"]) if _has_slots(load) else None
    place = {
        id(row): (n if slots is None else n % slots) % processes
        for n, group in enumerate(_groups(rows))
        for row in group
    }
    for row in rows:
        found[place[id(row)]].append(row)
    return found


def share_of_load(
    load: Mapping[str, Any], rows: Sequence[Row], *, number: int, processes: int
) -> dict[str, Any]:
    """The load as process ``number`` has it: its slots of each stage, or the slots that its rows name."""
    if _has_slots(load):
        own = [len(range(number, s["concurrency"], processes)) for s in load["stages"]]
        stages = [{**s, "concurrency": n} for s, n in zip(load["stages"], own, strict=True)]
        return {**load, "stages": stages}
    if load["concurrency"] is None:
        return dict(load)
    slots = {row["slot"] for row in rows if row["slot"] is not None}
    return {**load, "concurrency": max(len(slots), 1)}


def _has_slots(load: Mapping[str, Any]) -> bool:
    return load["kind"] == "staged" and is_closed(load)


def _groups(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows joined by any tie they share, in the order of each group's first row."""
    parent = list(range(len(rows)))

    def root(n: int) -> int:
        while parent[n] != n:
            parent[n] = parent[parent[n]]
            n = parent[n]
        return n

    first: dict[tuple[str, Any], int] = {}
    for n, row in enumerate(rows):
        for tie in _ties(row):
            other = first.setdefault(tie, n)
            low, high = sorted((root(other), root(n)))
            parent[high] = low
    found: dict[int, list[Row]] = {}
    for n, row in enumerate(rows):
        found.setdefault(root(n), []).append(row)
    return [found[n] for n in sorted(found)]


def _ties(row: Row) -> Iterator[tuple[str, Any]]:
    yield "request", row["request_id"]
    for name in ("slot", "session_id", "task_id"):
        if row[name] is not None:
            yield name, row[name]
    for earlier in row.get("after") or ():
        yield "request", earlier
