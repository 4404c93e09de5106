"""What whole ledgers add up to: attempts by client and server state, ghost load, release levels reached."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import polars as pl

from assay.archive.derived_schemas import ATTEMPTS, CHECKS
from assay.archive.stored_reading import StoredReading
from assay.pages import words
from assay.pages.contexts.ledger_filter import NOTHING_YET
from assay.pages.joined import AGREEING

SMALL_MATRIX = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixCell:
    client: str
    server: str
    count: int
    agrees: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Client states down, server states across; how many attempts are in both."""

    servers: list[str]
    rows: list[tuple[str, list[MatrixCell]]]

    @property
    def is_small(self) -> bool:
        return len(self.servers) * len(self.rows) <= SMALL_MATRIX


def matrix(table: pl.DataFrame) -> Matrix:
    counted = {
        (client or NOTHING_YET, server or NOTHING_YET): count
        for client, server, count in table.group_by("client_state", "server_state")
        .len()
        .iter_rows()
    }
    clients = [name for name, _ in words.in_order("client", {c: 1 for c, _ in counted})]
    servers = [name for name, _ in words.in_order("server", {s: 1 for _, s in counted})]
    return Matrix(
        servers=servers,
        rows=[(c, [_matrix_cell(counted, c, s) for s in servers]) for c in clients],
    )


def _matrix_cell(counted: dict[tuple[str, str], int], client: str, server: str) -> MatrixCell:
    open_ = server in ("undetermined", NOTHING_YET) or client not in AGREEING
    return MatrixCell(
        client=client,
        server=server,
        count=counted.get((client, server), 0),
        agrees=open_ or AGREEING[client] == server,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What whole tables say, which never changes."""

    ghost_ns: int
    ghost_unknown: int
    cancelled: int  # attempts with checks
    released: dict[str, int]


@lru_cache(maxsize=64)
def told(folder: Path, _modified_ns: int) -> Told:
    stored = StoredReading(folder)
    total = pl.col("ghost_total_ns")
    own = pl.scan_parquet(folder / ATTEMPTS).filter("ghost")
    sums = own.select(total.sum().alias("sum"), total.is_null().sum().alias("unknown"))
    ghost_ns, ghost_unknown = sums.collect().row(0)
    checks = stored.table(CHECKS)
    return Told(
        ghost_ns=ghost_ns,
        ghost_unknown=ghost_unknown,
        cancelled=checks.select(pl.col("attempt_id").n_unique()).collect().item()
        if checks is not None
        else 0,
        released=stored.released(),
    )
