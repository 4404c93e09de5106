"""A shelf of files: columns of a run of any length, outside memory.

The files have no name: they go with the process that made them, however it ends.
"""

import os
import tempfile
import weakref
from array import array
from pathlib import Path
from typing import IO, Any

import numpy as np

from assay.analysis.shelf import Column, Kind, Numbers

_WIDTH = 8
_BUFFER_BYTES = 1 << 20


def nameless(folder: Path, owner: object) -> IO[bytes]:
    """A new file that is closed, and gone, with its owner."""
    file = tempfile.TemporaryFile(dir=folder, buffering=_BUFFER_BYTES)  # noqa: SIM115 - lives on
    weakref.finalize(owner, file.close)
    return file


class FileColumn:
    """Appended through a buffer, read by place."""

    def __init__(self, kind: Kind, folder: Path) -> None:
        self._kind: Kind = kind
        self._file = nameless(folder, self)
        self._length = 0
        self._is_flushed = True

    def __len__(self) -> int:
        return self._length

    def extend(self, values: "Numbers | array[Any]") -> None:
        self._file.write(values.tobytes())
        self._length += len(values)
        self._is_flushed = False

    def read(self, start: int, stop: int) -> Numbers:
        if not self._is_flushed:
            self._file.flush()
            self._is_flushed = True
        data = os.pread(self._file.fileno(), (stop - start) * _WIDTH, start * _WIDTH)
        return np.frombuffer(data, dtype=self._kind)


class FileShelf:
    """Columns below a folder that must be there as long as they are used."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def column(self, kind: Kind) -> Column:
        return FileColumn(kind, self._folder)
