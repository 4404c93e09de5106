"""``evidence.content: digest``: what is kept of prompts and answers when their text is not.

Kept are times, sizes, counts and salted hashes, so that a text shown later can be checked against the
bundle that holds the salt. A salt per bundle keeps equal texts of two bundles from being matched.
"""

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from runners.protocol import layout, tables
from runners.protocol.documents import Gap
from runners.protocol.segment_reader import (
    Conversion,
    SegmentReading,
    gaps_of,
    read_batches,
    segment_files,
)

# As tables.WIRE with ``data`` null, and the size and salted SHA-256 of each read.
WIRE_DIGEST = pa.schema([*tables.WIRE, ("bytes", pa.int64()), ("sha256", pa.string())])
PROMPTS_DIGEST = pa.schema(
    [
        *tables.PROMPTS,
        ("messages_sha256", pa.string()),
        ("expanded_sha256", pa.string()),
        ("token_ids_sha256", pa.string()),
        ("tokens", pa.int32()),
    ]
)


def salted(salt: bytes, data: bytes) -> str:
    """SHA-256 over salt then data, lower-case hex."""
    return hashlib.sha256(salt + data).hexdigest()


def wire_to_parquet(folder: Path, target: Path, *, worker: int, salt: bytes) -> Conversion:
    """The wire of one worker without its bytes."""
    readings = [SegmentReading(segment=s) for s in segment_files(folder, "wire", worker)]
    rows = 0
    target.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(target, WIRE_DIGEST, compression="zstd") as writer:
        for reading in readings:
            for batch in read_batches(reading, tables.WIRE):
                writer.write_batch(_digested(batch, salt))
                rows += batch.num_rows
    return Conversion(
        stream="wire",
        target=target,
        rows=rows,
        readings=tuple(readings),
        gaps=tuple(gaps_of(readings)),
    )


def _digested(batch: pa.RecordBatch, salt: bytes) -> pa.RecordBatch:
    reads: list[bytes] = batch.column("data").to_pylist()
    columns = {
        "attempt_id": batch.column("attempt_id"),
        "t_ns": batch.column("t_ns"),
        "data": pa.nulls(len(reads), pa.binary()),
        "bytes": pa.array([len(data) for data in reads], pa.int64()),
        "sha256": pa.array([salted(salt, data) for data in reads], pa.string()),
    }
    return pa.RecordBatch.from_pydict(columns, schema=WIRE_DIGEST)


def prompts_to_digest(path: Path, *, salt: bytes) -> None:
    """Rewrite ``prompts.parquet`` without texts and token ids. Doing it twice changes nothing."""
    table = pq.read_table(path)
    if "messages_sha256" in table.column_names:
        return
    rows = [_prompt(row, salt) for row in table.to_pylist()]
    part = path.with_name(path.name + ".part")
    pq.write_table(pa.Table.from_pylist(rows, schema=PROMPTS_DIGEST), part, compression="zstd")
    part.replace(path)


def _prompt(row: dict[str, Any], salt: bytes) -> dict[str, Any]:
    ids = row["token_ids"]
    packed = None if ids is None else b"".join(i.to_bytes(4, "little", signed=True) for i in ids)
    return {
        **row,
        "messages": None,
        "expanded": None,
        "token_ids": None,
        "messages_sha256": _hash(salt, row["messages"]),
        "expanded_sha256": _hash(salt, row["expanded"]),
        "token_ids_sha256": None if packed is None else salted(salt, packed),
        "tokens": None if ids is None else len(ids),
    }


def _hash(salt: bytes, text: str | None) -> str | None:
    return None if text is None else salted(salt, text.encode())


def gaps() -> list[Gap]:
    """What a bundle without content cannot answer."""
    needed = "the same study with evidence.content: keep"
    return [
        Gap(
            what=f"the bytes of {layout.WIRE_FOLDER}/ are not kept (evidence.content: digest)",
            affects="first content event, first visible token, token and chunk counts, text, finish "
            "reason, and every metric that rests on them",
            needed=needed,
            state="accepted",
        ),
        Gap(
            what=f"texts and token ids of {layout.PROMPTS} are not kept (evidence.content: digest)",
            affects="rebuilding the same input from this bundle alone",
            needed=needed + ", or the declared prompt source and seed",
            state="accepted",
        ),
    ]
