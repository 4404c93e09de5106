"""Columns in files read as columns in memory do, and leave nothing behind."""

from pathlib import Path

import numpy as np

from assay.analysis.shelf import HeldShelf, copied
from assay.archive.file_shelf import FileShelf


def test_a_column_is_read_between_appends_and_leaves_no_file(tmp_path: Path) -> None:
    in_file, in_memory = FileShelf(tmp_path).column("q"), HeldShelf().column("q")
    for numbers in ([1, -(2**63)], [], [2**63 - 1, 4, 5]):
        for column in (in_file, in_memory):
            column.extend(np.array(numbers, dtype=np.int64))
            assert len(column.read(0, 1)) == 1

    assert len(in_file) == len(in_memory) == 5
    for start, stop in ((0, 5), (1, 3), (2, 2)):
        assert in_file.read(start, stop).tolist() == in_memory.read(start, stop).tolist()
    assert list(tmp_path.iterdir()) == []


def test_a_column_is_copied_a_stretch_at_a_time(tmp_path: Path) -> None:
    source, target = HeldShelf().column("d"), FileShelf(tmp_path).column("d")
    source.extend(np.array([0.5, 1.5, 2.5, 3.5, 4.5]))

    copied(source, target, block=2)

    assert target.read(0, 5).tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]
