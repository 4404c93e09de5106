"""The processes of a stack, found by the home that they work in."""

from pathlib import Path

import psutil


def processes_below(home: Path) -> list[psutil.Process]:
    """Every process that works in this home, but for those that a test started itself."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("ASSAY_HOME") == str(home) and process.status() != "zombie":
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found
