"""The peak memory of one process image.

``ru_maxrss`` is none: a new process begins with the peak of the one that started it, and keeps it over
``exec`` (what it was started from had driven a load of millions of events). ``VmHWM`` begins with the image.
"""

from pathlib import Path


def peak_bytes(pid: int | str = "self") -> int:
    """The most that was resident of this process; 0 if it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)
