"""Did devices get their memory back? Readings before the launch and after the stop, and who holds some now.

Without a device, or where none was read, there is no such check: a run on a CPU has nothing to release there.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runners.evidence import amd_smi, device_readings
from runners.evidence.release import ReleaseCheck
from runners.protocol.events import ReleaseLevel, ReleaseState
from runners.protocol.tables import TelemetryRow as Row
from runners.protocol.workspace import json_lines

_USED, _HELD = "memory_used_bytes", "process_memory_bytes"


def readings() -> list[Row]:
    """Memory of every device, and of every process on one, now."""
    rows = [*device_readings.rows(), *amd_smi.rows()]
    return [row for row in rows if row[3] in (_USED, _HELD)]


def check(before: Sequence[Row], after: Sequence[Row], keeper_journal: Path) -> list[ReleaseCheck]:
    """At most one check. A process of this run that still holds memory: held; one that nobody knows: unknown.

    Two readings of used memory stand beside it: others use devices too, so by themselves they prove nothing.
    """
    if not before or not after:
        return []
    ours = {row["pid"] for row in json_lines(keeper_journal) if "pid" in row}
    new = {row[2] for row in after if row[3] == _HELD} - {r[2] for r in before if r[3] == _HELD}
    state = ReleaseState.released
    if new:
        state = ReleaseState.held if new & ours else ReleaseState.unknown
    used = {name: _used(rows) for name, rows in (("before", before), ("after", after))}
    return [
        ReleaseCheck(
            check="device_memory",
            level=ReleaseLevel.process_returned.value,
            state=state.value,
            value={"used_bytes": used, "holders": sorted(new, key=str)},
            evidence=None,
            reason=None
            if state is not ReleaseState.unknown
            else "processes that are not known to be of this run hold memory since it began",
        )
    ]


def _used(rows: Sequence[Row]) -> Mapping[str, Any]:
    return {row[1]: row[4] for row in rows if row[3] == _USED}
