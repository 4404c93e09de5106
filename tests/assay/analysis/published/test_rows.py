"""The rows themselves: complete, with sources and conditions, and nothing filled in."""

from typing import Any

import pytest

from assay.analysis.errors import ClaimRefused
from assay.analysis.published.rows import read_published
from benchmarks.published_measurements import published

PUBLISHED = published()
GROUP: dict[str, Any] = {
    "section": "A", "source": "s", "class": "A", "judged": "decode_step", "device": "H100",
    "engine": {"key": "vllm", "version": None},
}  # fmt: skip


def document(row: dict[str, Any]) -> dict[str, Any]:
    source = {"title": "t", "version": None, "conditions": "c"}
    own = {"id": "X1", "model": "m", "config": "c", "measured": {"step_ms": 1.0}, **row}
    return {"sources": {"s": source}, "groups": [{**GROUP, "rows": [own]}]}


def test_every_row_of_the_published_list_is_there() -> None:
    listed = {
        "A1", "A2", "A3", "A4", "B1", "B3", "B5", "B7", "C1", "C2", "C3", "C4", "C6", "C7",
        "D1", "D3", "D5", "D7", "D9", "E1", "E3", "E5", "E7", "E8", "E9", "E10", "E12",
        "F1", "F2", "F3", "F4", "G", "B",
    }  # fmt: skip

    found = {row.id.split(".")[0] for row in PUBLISHED.rows}

    assert found == listed
    assert len([row for row in PUBLISHED.rows if row.id.startswith("B.run")]) == 4


def test_every_row_says_what_was_measured_and_by_whom() -> None:
    for row in PUBLISHED.rows:
        assert PUBLISHED.sources[row.source].conditions, row.id
        assert row.measured or row.reason, row.id
        assert row.quality in "ABC"


def test_a_batch_that_is_not_stated_follows_from_littles_law() -> None:
    # 6 requests/s x (1772 - 26.7) ms of decoding = 10.5 in flight, so 10 in a mean step
    # half of 251 output tokens, 150 reused and 600 new prompt tokens are stored on average
    row = PUBLISHED.row("C1")

    assert (row.batch, row.context) == (10, 150 + 600 + 125)


def test_a_rate_of_a_device_is_a_time_of_its_sequences() -> None:
    # 128 sequences a device at 2324 token/s: 55.08 ms a step
    row = PUBLISHED.row("E1")

    assert row.measured_s == pytest.approx(128 / 2324)


def test_a_rate_without_a_batch_has_no_step_time() -> None:
    assert PUBLISHED.row("E9.20b").measured_s is None


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"tensor": 2}, "X1.tensor"),
        ({"load": {"batchsize": 1}}, "X1.load.batchsize"),
        ({"source": "nobody"}, "X1.source"),
        ({"class": "D"}, "X1.class"),
        ({"judged": "nothing"}, "X1.reason"),
        ({"config_changes": {"vocab_size": 1}}, "X1.config_reason"),
    ],
)
def test_a_slip_in_a_row_is_refused_by_name(row: dict[str, Any], field: str) -> None:
    with pytest.raises(ClaimRefused) as refusal:
        read_published(document(row))

    assert refusal.value.finding.field == field


def test_two_rows_of_one_id_are_refused() -> None:
    twice = document({})
    twice["groups"][0]["rows"] *= 2

    with pytest.raises(ClaimRefused, match="every id once"):
        read_published(twice)
