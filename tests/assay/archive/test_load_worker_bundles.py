"""A bundle of which a load worker sent one request: its own clock stamps it, an interval ties both."""

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.archive.interpretation import interpret
from runners.protocol import layout, tables
from tests.assay.archive import interpretable, written
from tests.assay.archive.interpretable import DOMAIN, ORIGIN_NS, attempts, wire

MS = 1_000_000
AHEAD_NS = 7 * 10**15  # the load worker's machine has been up for months longer
ERROR_NS = 2 * MS
THEIRS = "boot-2/1/monotonic/lab-2/77"
LOAD = "load-0001.A1"
CASE = "cases-0001.A1"


def moved(rows: list[dict[str, Any]], **more: Any) -> list[dict[str, Any]]:
    """These rows as the load worker's clock would have stamped them."""
    return [
        {**row, **more}
        | {name: value + AHEAD_NS for name, value in row.items() if name.endswith("_ns")}
        for row in rows
    ]


def of(rows: list[dict[str, Any]], *, load: bool) -> list[dict[str, Any]]:
    return [row for row in rows if (row["attempt_id"] == LOAD) is load]


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root = tmp_path_factory.mktemp("two-clocks")
    reads = io.BytesIO()
    theirs = moved(of(wire(), load=True))
    pq.write_table(pa.Table.from_pylist(theirs, schema=tables.WIRE), reads)
    domain = {
        "id": THEIRS,
        "worker": 2,
        "offset_ns": [str(AHEAD_NS - ERROR_NS), str(AHEAD_NS + ERROR_NS)],
        "error_ns": ERROR_NS,
    }
    changes = {
        layout.CLOCKS: {
            "origin_ns": str(ORIGIN_NS),
            "client_domain": DOMAIN,
            "domains": [{"id": DOMAIN}, domain],
        },
        layout.ATTEMPTS: [
            *(row | {"worker": 0} for row in of(attempts(), load=False)),
            *moved(of(attempts(), load=True), worker=2),
        ],
        "wire": of(wire(), load=False),
        "more": {f"{layout.WIRE_FOLDER}/2-0.parquet": reads.getvalue()},
    }
    interpretable.build(root / "bundle", **changes)
    return dict(written.read(interpret(root / "bundle", root / "derived").parent))


@pytest.fixture(scope="module")
def on_one_clock(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root: Path = tmp_path_factory.mktemp("one-clock")
    interpretable.build(root / "bundle")
    return dict(written.read(interpret(root / "bundle", root / "derived").parent))


def attempt(document: dict[str, Any], name: str) -> dict[str, Any]:
    [found] = [a for a in document["attempts"] if a["attempt_id"] == name]
    return dict(found)


def aggregate(document: dict[str, Any], rule: str, statistic: str) -> dict[str, Any]:
    [found] = [
        a for a in document["aggregates"] if (a["rule"], a["statistic"]) == (rule, statistic)
    ]
    return dict(found)


def test_client_figures_of_an_attempt_are_of_its_own_clock_and_unchanged(
    document: dict[str, Any], on_one_clock: dict[str, Any]
) -> None:
    theirs, ours = attempt(document, LOAD), attempt(on_one_clock, LOAD)

    assert theirs["client_state"] == "completed"
    for rule in ("ttft.first_content.client", "e2e.client", "tpot.last_token"):
        assert theirs["metrics"][rule] == ours["metrics"][rule]
    assert theirs["timestamps_ns"] == ours["timestamps_ns"], "by the middle of the interval"


def test_the_ledger_says_whose_clock_it_was_and_how_well_it_is_known(
    document: dict[str, Any],
) -> None:
    rows = {r["subject"]: r for r in document["ledgers"]["client"]}

    assert (rows[LOAD]["clock_domain"], rows[LOAD]["error_ns"]) == (THEIRS, ERROR_NS)
    assert (rows[CASE]["clock_domain"], rows[CASE]["error_ns"]) == (DOMAIN, 0)
    assert document["origins_ns"][THEIRS] == str(ORIGIN_NS + AHEAD_NS)
    assert document["origins_ns"][DOMAIN] == str(ORIGIN_NS)


def test_a_rate_over_their_window_is_an_interval(
    document: dict[str, Any], on_one_clock: dict[str, Any]
) -> None:
    rate = aggregate(document, "throughput.output_tokens", "rate")
    exact = aggregate(on_one_clock, "throughput.output_tokens", "rate")

    from_ns, to_ns = exact["window_ns"]
    length_s = (to_ns - from_ns) / 1e9
    tokens = exact["value"] * length_s
    assert rate["value"] == pytest.approx(exact["value"])
    # both edges may be off by 2 ms: 4 ms more, 4 ms less
    bounds = [tokens / (length_s + 0.004), tokens / (length_s - 0.004)]
    assert rate["interval"] == pytest.approx(bounds)
    assert tokens > 0
    assert rate["interval_kind"] == "bounds of the clocks' offset"
    assert rate["denominator"].endswith("several clock domains, its length known to 4000000 ns")
    assert exact["interval"] is None
