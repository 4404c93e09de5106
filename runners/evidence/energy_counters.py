"""Energy as the processor counts it itself (RAPL), read from the kernel's powercap files.

The counter of a package wraps at a range that the kernel states, so both are recorded and a reader unwraps.
Where the files are not there, or not readable without privileges, there is a reason and no row.
``ASSAY_POWERCAP`` names another folder, as in a container that has the host's mounted elsewhere; the host
document says which was read.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from runners.protocol.tables import TelemetryRow as Row

VARIABLE = "ASSAY_POWERCAP"
_KERNELS = Path("/sys/class/powercap")
SUBJECT = "rapl:"
ENERGY, RANGE = "energy_j", "energy_range_j"
_UJ_PER_J = 1_000_000


def root() -> Path:
    """Where the counters lie for this process."""
    return Path(os.environ.get(VARIABLE) or _KERNELS)


def rows(below: Path | None = None) -> list[Row]:
    """One reading of every package; parts of a package (cores, memory controller) lie inside it."""
    found: list[Row] = []
    for folder in _packages(below or root()):
        t_ns = time.monotonic_ns()
        energy, most = _number(folder / "energy_uj"), _number(folder / "max_energy_range_uj")
        if energy is None or most is None:
            continue
        subject = f"{SUBJECT}{_name(folder)}"
        found += [
            (t_ns, subject, None, ENERGY, energy / _UJ_PER_J, "J"),
            (t_ns, subject, None, RANGE, most / _UJ_PER_J, "J"),
        ]
    return found


def problem(below: Path | None = None) -> str | None:
    """Why no package's energy can be read here; None if one can."""
    folder = below or root()
    if not folder.is_dir():
        return f"the kernel offers no {folder} (usual in a virtual machine)"
    packages = list(_packages(folder))
    if not packages:
        return f"{folder} holds no RAPL package"
    if not any(_number(folder / "energy_uj") is not None for folder in packages):
        return f"{packages[0] / 'energy_uj'} is not readable by this user"
    return None


def _packages(folder: Path) -> Iterator[Path]:
    """``intel-rapl:0`` is a package, ``intel-rapl:0:1`` a part of it; AMD's packages bear the same name."""
    return iter(sorted(p for p in folder.glob("intel-rapl:*") if p.name.count(":") == 1))


def _name(folder: Path) -> str:
    try:
        return (folder / "name").read_text(encoding="ascii").strip()
    except OSError:
        return folder.name


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
