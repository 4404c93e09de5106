"""Some columns of a small Parquet file.

``pyarrow.parquet.read_table`` does that as well, and for it loads Arrow's data sets: a noticeable part of a
short reading.
"""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def read_columns(path: Path, columns: Iterable[str]) -> pa.Table:
    """The columns of these names, in this order."""
    names = list(columns)
    with pq.ParquetFile(path) as file:
        return file.read(columns=names, use_threads=False).select(names)
