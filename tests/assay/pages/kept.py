"""Folders of made-up files, written once a process and copied for each test that wants them.

The same inputs always give the same bytes, and writing them takes longer than most tests that read them.
"""

import atexit
import shutil
import tempfile
from collections.abc import Callable, Hashable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
_made: dict[Hashable, tuple[Path, Any]] = {}


def written(folder: Path, key: Hashable, write: Callable[[Path], T]) -> T:
    """Make ``folder`` and fill it as ``write`` does; ``key`` says all that the files depend on."""
    if key not in _made:
        made = _place() / str(len(_made))
        _made[key] = made, write(made)
    said: T
    made, said = _made[key]
    shutil.copytree(made, folder, copy_function=shutil.copy)  # written now, not when it was made
    return said


@cache
def _place() -> Path:
    place = Path(tempfile.mkdtemp(prefix="assay-test-made-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place
