"""A packed file of a bundle is unpacked up to a limit and not beyond."""

import gzip
from pathlib import Path

import pytest

from assay.archive.inflating import Flood, gunzip


def test_an_honest_file_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"x" * 100))

    assert gunzip(tmp_path / "a.gz", most=100) == b"x" * 100


@pytest.mark.forbids
def test_a_flood_is_refused_at_the_limit(tmp_path: Path) -> None:
    # Ten megabytes of one letter pack into ten kilobytes.
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"x" * 10_000_000))

    with pytest.raises(Flood, match="more than 1000 bytes"):
        gunzip(tmp_path / "a.gz", most=1000)
