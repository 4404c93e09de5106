"""The raw socket reads of one attempt, from the wire files of its bundle, a page at a time."""

import base64
import json
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from django.utils.translation import gettext as _

from assay.analysis.documents import AttemptReading
from assay.pages.contexts.head import RunHead
from assay.pages.hostile import visible_bytes
from assay.pages.paging import Window, window
from runners.protocol import layout

READS_SHOWN = 25
READ_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One socket read as it came; ``text`` is safe to look at."""

    since_sent_s: float | None
    bytes: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """One page of reads; ``problem`` says why there are none."""

    rows: list[Read]
    window: Window
    problem: str


def raw_reads(head: RunHead, attempt: AttemptReading, page: str | None) -> Reads:
    """Reads of a run of ours, or the ``read`` rows of a stream that was recorded elsewhere."""
    folder = head.folder.folder if head.folder else None
    if folder is not None and any((folder / layout.WIRE_FOLDER).glob("*.parquet")):
        found = _captured(folder / layout.WIRE_FOLDER, attempt["attempt_id"], _origin_ns(head))
    elif folder is not None and (folder / layout.RECORDED_WIRE).is_file():
        found = _recorded(folder / layout.RECORDED_WIRE, attempt["attempt_id"])
    else:
        withheld = _("the raw reads are withheld from this copy, or were never captured")
        return Reads(rows=[], window=window(0, None, READS_SHOWN), problem=withheld)
    where = window(len(found), page, READS_SHOWN)
    sent = attempt["timestamps_ns"].get("sent")
    return Reads(
        rows=[
            Read(
                since_sent_s=None if sent is None else (t_ns - sent) / 1e9,
                bytes=len(data),
                text=visible_bytes(data, READ_CHARACTERS),
            )
            for t_ns, data in found[where.offset : where.offset + where.size]
        ],
        window=where,
        problem="" if found else _("no byte came back"),
    )


def _origin_ns(head: RunHead) -> int:
    clocks = head.folder.clocks() if head.folder else None
    return int(clocks["origin_ns"]) if clocks else 0


def _captured(folder: Path, attempt_id: str, origin_ns: int) -> list[tuple[int, bytes]]:
    """Times counted from the run's origin, as everything published is."""
    own = pl.scan_parquet(folder / "*.parquet").filter(pl.col("attempt_id") == attempt_id)
    frame = (
        own.select(pl.col("t_ns") - origin_ns, "data").sort("t_ns", maintain_order=True).collect()
    )
    return frame.rows()


def _recorded(path: Path, attempt_id: str) -> list[tuple[int, bytes]]:
    found = []
    with path.open("rb") as stream:
        for raw in stream:
            row = json.loads(raw)
            if row.get("attempt_id") == attempt_id and row.get("kind") == "read":
                text = row.get("text")
                data = base64.b64decode(row["b64"]) if text is None else text.encode()
                found.append((int(row["t_ns"]), data))
    return found
