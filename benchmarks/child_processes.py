"""Which processes a process has started, as the kernel lists them: no look at all of /proc."""

import contextlib
from pathlib import Path


def children(pid: int) -> set[int]:
    """Of all threads of a process; empty once it is gone."""
    found: set[int] = set()
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found.update(int(child) for child in file.read_text().split())
    return found
