"""Attempts read a batch at a time: any cut, any order of the wire, any number of workers."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.analysis.errors import BadRecord
from assay.analysis.recorded import interpret_recorded
from assay.archive import attempt_batches, reading_map
from assay.archive.attempt_batches import cut
from assay.archive.derived_tables import GroupedWriter
from assay.archive.interpretation import interpret
from assay.archive.measured import MeasuredAttempts
from assay.archive.sample import build_e0_bundle
from assay.archive.stored_reading import StoredReading
from runners.protocol import layout
from tests.assay.analysis.streams import SAMPLE, sample_stream
from tests.assay.archive import interpretable, written
from tests.assay.archive.test_sample import NOW


@pytest.fixture
def one_attempt_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt_batches, "MOST_ATTEMPTS", 1)
    monkeypatch.setattr(reading_map, "WORTH_WORKERS_BYTES", 0)


@pytest.mark.usefixtures("one_attempt_a_batch")
def test_the_number_of_workers_changes_no_byte(tmp_path: Path) -> None:
    interpretable.build(tmp_path / "bundle")

    alone = interpret(tmp_path / "bundle", tmp_path / "alone", processors=1).parent
    shared = interpret(tmp_path / "bundle", tmp_path / "shared", processors=2).parent

    for path in alone.iterdir():
        assert path.read_bytes() == (shared / path.name).read_bytes(), path.name


@pytest.mark.usefixtures("one_attempt_a_batch")
def test_a_row_that_cannot_be_read_is_refused_in_a_worker_as_it_is_alone(tmp_path: Path) -> None:
    backwards = list(reversed(interpretable.wire()))
    interpretable.build(tmp_path / "bundle", wire=backwards)

    with pytest.raises(BadRecord, match=r"t_ns of a read of load-0001\.A1") as refused:
        interpret(tmp_path / "bundle", tmp_path / "derived", processors=2)

    assert refused.value.finding.remedy.startswith("Write the reads")


def test_reads_may_interleave_in_the_wire(tmp_path: Path) -> None:
    # As several connections leave it: the load's reads between those of warm-up and case.
    first, second, *rest = interpretable.wire()
    mixed = [rest[0], first, rest[1], second, *rest[2:]]
    interpretable.build(tmp_path / "one")
    interpretable.build(tmp_path / "two", wire=mixed)

    one = written.read(interpret(tmp_path / "one", tmp_path / "derived").parent)
    two = written.read(interpret(tmp_path / "two", tmp_path / "derived").parent)

    assert two["attempts"] == one["attempts"]
    assert two["ledgers"] == one["ledgers"]


def test_a_batch_ends_at_so_many_attempts_or_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt_batches, "MOST_ATTEMPTS", 3)
    monkeypatch.setattr(attempt_batches, "MOST_BYTES", 100)
    sizes = [10, 10, 10, 10, 95, 0, 500, 1]

    found = cut(np.array(sizes))

    # Three attempts; then 10 + 95 is above 100; 95 and nothing fit; 500 stands alone, whatever the limit.
    assert found == [(0, 3), (3, 4), (4, 6), (6, 7), (7, 8)]


def test_only_the_measured_attempts_are_read_in_the_order_of_their_making(tmp_path: Path) -> None:
    interpretable.build(
        tmp_path / "bundle", **{layout.ATTEMPTS: list(reversed(interpretable.attempts()))}
    )

    measured = MeasuredAttempts(tmp_path / "bundle", aside=tmp_path)

    rows = measured.rows(0, len(measured)).to_pylist()
    assert [(row["attempt_id"], row["row"]) for row in rows] == [
        ("cases-0001.A1", 2),
        ("load-0001.A1", 1),
    ]


def test_the_stored_reading_is_the_one_that_the_command_line_prints(tmp_path: Path) -> None:
    build_e0_bundle(
        wire=SAMPLE / "wire.jsonl",
        events=SAMPLE / "events.jsonl",
        declaration=json.loads((SAMPLE / "declaration.json").read_bytes()),
        out=tmp_path / "bundle",
        sealed_at=NOW,
    )
    stored = StoredReading(interpret(tmp_path / "bundle", tmp_path / "derived").parent).whole()
    printed = json.loads(json.dumps(interpret_recorded(sample_stream())))

    for name in ("attempts", "lanes", "ghost_load"):
        assert stored[name] == printed[name], name  # type: ignore[literal-required]
    for name in printed["ledgers"]:
        states = [(row["subject"], row["state"], row["ids"]) for row in printed["ledgers"][name]]
        kept = [(r["subject"], r["state"], r["ids"]) for r in stored["ledgers"][name]]
        assert kept == states, name


def test_one_attempt_is_found_with_its_neighbours(tmp_path: Path) -> None:
    interpretable.build(tmp_path / "bundle")
    reading = StoredReading(interpret(tmp_path / "bundle", tmp_path / "derived").parent)

    found = reading.attempt("load-0001.A1")

    assert found is not None
    assert (found.reading["text"], found.previous, found.next) == ("abc", "cases-0001.A1", None)
    assert found.reading["chunk_tokens"] == [1, 1, 1]
    assert reading.attempt("load-0002.A1") is None


def test_row_groups_have_their_size_whatever_the_batches(tmp_path: Path) -> None:
    schema = pa.schema([("n", pa.int64())])
    writer = GroupedWriter(tmp_path / "n.parquet", schema, 4)
    for numbers in ([0], [1, 2], [3, 4, 5, 6, 7, 8, 9], [10]):
        writer.write(pa.record_batch([pa.array(numbers)], schema=schema))
    writer.close()

    table = pq.ParquetFile(tmp_path / "n.parquet")
    assert table.read()["n"].to_pylist() == list(range(11))
    assert [table.metadata.row_group(i).num_rows for i in range(3)] == [4, 4, 3]
