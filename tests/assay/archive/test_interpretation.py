"""From a sealed bundle to its derived documents and tables."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assay.analysis.definition import DEFINITION_VERSION
from assay.archive import derived_schemas
from assay.archive.interpretation import UnlikeFirstReading, interpret
from runners.protocol import layout, manifest
from runners.protocol.layout import FileClass
from tests.assay.archive import interpretable, written

MS = 1_000_000
CASE = "cases-0001.A1"
LOAD = "load-0001.A1"


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    root = tmp_path_factory.mktemp("reading")
    interpretable.build(root / "bundle")
    path = interpret(root / "bundle", root / "derived")
    return path.parent, dict(written.read(path.parent))


def read(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    interpretable.build(tmp_path / "bundle", **changes)
    return dict(written.read(interpret(tmp_path / "bundle", tmp_path / "derived").parent))


def final(document: dict[str, Any], ledger: str) -> dict[str, str]:
    return {row["subject"]: row["state"] for row in document["ledgers"][ledger]}


def aggregate(document: dict[str, Any], rule: str, statistic: str) -> dict[str, Any]:
    (found,) = [
        a for a in document["aggregates"] if (a["rule"], a["statistic"]) == (rule, statistic)
    ]
    return dict(found)


def test_it_lies_below_the_bundle_digest_and_the_definition_version(
    reading: tuple[Path, dict[str, Any]],
) -> None:
    folder, document = reading

    assert folder.name == document["definition_version"] == DEFINITION_VERSION
    assert folder.parent.name == document["bundle_digest"]
    assert sorted(p.name for p in folder.iterdir()) == [
        "attempts.parquet",
        "cancel_checks.parquet",
        "events.parquet",
        "interpretation.json",
        "iterations.parquet",
        "ledgers.parquet",
        "readings.parquet",
        "tasks.parquet",
        "timeline.parquet",
    ]


def test_interpreting_twice_gives_identical_bytes(tmp_path: Path) -> None:
    interpretable.build(tmp_path / "bundle")

    first = interpret(tmp_path / "bundle", tmp_path / "one").parent
    second = interpret(tmp_path / "bundle", tmp_path / "two").parent

    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes(), path.name
    assert interpret(tmp_path / "bundle", tmp_path / "one").parent == first


def test_a_reading_that_differs_from_the_first_is_refused_and_changes_nothing(
    tmp_path: Path,
) -> None:
    interpretable.build(tmp_path / "bundle")
    path = interpret(tmp_path / "bundle", tmp_path / "derived")
    path.write_bytes(b"{}")

    with pytest.raises(UnlikeFirstReading, match="a version of its own"):
        interpret(tmp_path / "bundle", tmp_path / "derived")

    assert path.read_bytes() == b"{}"
    assert [p.name for p in path.parent.parent.iterdir()] == [DEFINITION_VERSION]


def test_only_the_measured_phase_is_read(reading: tuple[Path, dict[str, Any]]) -> None:
    _, document = reading

    assert [a["attempt_id"] for a in document["attempts"]] == [CASE, LOAD]
    assert document["reconciliation"]["offered"] == 2
    assert document["reconciliation"]["received"] == 2
    assert document["reconciliation"]["differences"] == []


def test_times_count_from_the_run_s_origin(reading: tuple[Path, dict[str, Any]]) -> None:
    _, document = reading
    (load,) = [a for a in document["attempts"] if a["attempt_id"] == LOAD]

    assert load["timestamps_ns"]["sent"] == 301 * MS
    assert load["chunk_times_ns"] == [331 * MS, 351 * MS, 371 * MS]
    assert load["chunk_tokens"] == [1, 1, 1]
    assert document["origins_ns"] == {interpretable.DOMAIN: str(interpretable.ORIGIN_NS)}


def test_metrics_of_both_perspectives(reading: tuple[Path, dict[str, Any]]) -> None:
    _, document = reading
    (load,) = [a for a in document["attempts"] if a["attempt_id"] == LOAD]
    metrics = {rule: m["value"] for rule, m in load["metrics"].items()}

    assert metrics["ttft.first_content.client"] == pytest.approx(0.030)  # 301 to 331
    assert metrics["ttft.server"] == pytest.approx(0.027)  # 303 to 330
    assert metrics["boundary.ttft"] == pytest.approx(0.003)
    assert metrics["queue.server"] == pytest.approx(0.002)  # 303 to 305
    assert metrics["prefill.server"] == pytest.approx(0.025)
    assert metrics["decode.server"] == pytest.approx(0.040)
    assert metrics["tpot.last_token"] == pytest.approx(0.020)
    assert metrics["e2e.server"] == pytest.approx(0.068)  # 303 to 371
    assert load["metrics"]["send_lag"]["absent"] == "closed loop: the request had no scheduled time"


@pytest.mark.req("1.05")
def test_one_model_call_is_many_iterations_and_both_are_counted(
    reading: tuple[Path, dict[str, Any]],
) -> None:
    folder, document = reading
    steps = pl.read_parquet(folder / derived_schemas.ITERATIONS)

    # Two calls; the cancelled case ran two forward passes, the load three (the warm-up's are not measured).
    assert len({a["model_call_id"] for a in document["attempts"]}) == 2
    assert document["observed"]["iterations"] == steps.height == 5
    assert steps.filter(pl.col("segment") == "load").height == 3


@pytest.mark.req("2.15")
def test_queue_waits_stand_level_by_level_and_as_a_distribution(
    reading: tuple[Path, dict[str, Any]],
) -> None:
    _, document = reading
    (lane,) = [
        x for x in document["lanes"] if x["attempt_id"] == LOAD and x["perspective"] == "server"
    ]
    waits = {(i["start_event"], i["end_event"]): i for i in lane["intervals"]}

    front, engine = waits["front_received", "queued"], waits["queued", "scheduled"]
    assert front["to_ns"] - front["from_ns"] == 1 * MS  # 302 to 303: the front end
    assert engine["to_ns"] - engine["from_ns"] == 2 * MS  # 303 to 305: the engine's own queue
    queue = {a["statistic"]: a for a in document["aggregates"] if a["rule"] == "queue.server"}
    assert set(queue) == {"mean", "min", "p50", "p95", "p99", "max"}
    assert queue["max"]["value"] == pytest.approx(0.002)


@pytest.mark.req("5.15")
def test_the_cap_is_never_reported_as_the_length(tmp_path: Path) -> None:
    capped = [{**row, "output_cap": 64} for row in interpretable.plan()]

    case, load = read(tmp_path, **{layout.PLAN: capped})["attempts"]

    assert (load["counts"]["token_ids"], load["counts"]["usage"]) == (3, 3)
    assert load["finish_reason"] == "length"
    assert (case["counts"]["token_ids"], case["counts"]["usage"]) == (1, None)
    assert case["finish_reason"] is None
    assert case["client_state"] == "cancelled"


@pytest.mark.req("8.01", "8.04", "8.21")
def test_the_cancelled_request_in_four_ledgers(reading: tuple[Path, dict[str, Any]]) -> None:
    _, document = reading

    assert final(document, "client") == {CASE: "cancelled", LOAD: "completed"}
    assert final(document, "server") == {CASE: "cancelled", LOAD: "completed"}
    assert final(document, "task") == {"T-cases-0001": "failure", "T-load-0001": "success"}
    assert final(document, "resource") == {CASE: "released", LOAD: "released"}
    (ghost,) = document["ghost_load"]
    # Client left at 200; the last block came back at 216; the step of 195..215 covers 15 ms.
    assert (ghost["total_ns"], ghost["computing_ns"], ghost["holding_ns"]) == (
        16 * MS,
        15 * MS,
        1 * MS,
    )
    results = {c["check"]: c["result"] for c in document["cancel_checks"]}
    assert set(results.values()) == {"held"}
    levels = [
        (r["detail"], r["evidence"])
        for r in document["ledgers"]["resource"]
        if r["subject"] == CASE and r["state"] == "released"
    ]
    assert [level for level, _ in levels] == [
        "computing_stopped",
        "blocks_dropped",
        "blocks_reusable",
        "process_returned",
    ]
    assert levels[-1][1] == "session.jsonl:4"


@pytest.mark.req("1.08", "9.10")
def test_aggregates_are_over_the_load_and_name_what_they_are(
    reading: tuple[Path, dict[str, Any]],
) -> None:
    _, document = reading

    ttft = aggregate(document, "ttft.first_content.client", "mean")
    assert (ttft["n"], ttft["of"], ttft["population"]) == (
        1,
        1,
        "completed attempts, segment load",
    )
    assert (ttft["limited_by"], ttft["perspective"], ttft["clock_domain"]) == (
        "E1",
        "client",
        interpretable.DOMAIN,
    )
    p99 = aggregate(document, "ttft.first_content.client", "p99")
    assert p99["value"] is None
    assert p99["absent"] == "too few samples for p99: 1, at least 100 are needed"
    assert aggregate(document, "ttft.server", "mean")["limited_by"] == "E2"
    # 30 ms <= 50 ms and 20 ms <= 20 ms: the one load request holds both limits.
    assert aggregate(document, "goodput.ratio", "ratio")["value"] == 1.0
    assert aggregate(document, "step.server.decode", "mean")["value"] == pytest.approx(0.020)
    assert aggregate(document, "batch.server", "max")["value"] == 1.0


def test_derived_tables_hold_attempts_events_iterations_and_lanes(
    reading: tuple[Path, dict[str, Any]],
) -> None:
    folder, document = reading

    attempts = pl.read_parquet(folder / derived_schemas.ATTEMPTS)
    assert attempts["attempt_id"].to_list() == [CASE, LOAD]
    assert attempts["server_state"].to_list() == ["cancelled", "completed"]
    assert attempts["tpot.last_token"].to_list() == [None, pytest.approx(0.020)]
    assert "text" not in attempts.columns

    events = pl.read_parquet(folder / derived_schemas.EVENTS)
    assert len(events) == len(interpretable.events().splitlines())
    assert events.filter(pl.col("event") == "cancelled")["t_ns"].to_list() == [215 * MS]

    steps = pl.read_parquet(folder / derived_schemas.ITERATIONS)
    assert steps["phase"].to_list() == ["prefill", "decode", "prefill", "decode", "decode"]
    assert steps["segment"].to_list() == ["cases", "cases", "load", "load", "load"]

    lanes = pl.read_parquet(folder / derived_schemas.TIMELINE)
    server = lanes.filter((pl.col("attempt_id") == LOAD) & (pl.col("perspective") == "server"))
    assert "queue" in server["name"].to_list()
    assert len(lanes) == sum(len(lane["intervals"]) for lane in document["lanes"])


def test_the_bundle_is_not_touched(tmp_path: Path) -> None:
    interpretable.build(tmp_path / "bundle")

    interpret(tmp_path / "bundle", tmp_path / "derived")

    assert manifest.verify(tmp_path / "bundle").ok


def test_a_gap_of_the_session_stands_with_the_conclusions(tmp_path: Path) -> None:
    row = {"event": "gap", "what": "w", "affects": "a", "needed": "n", "state": "open"}

    document = read(
        tmp_path, **{layout.SESSION: interpretable.session({**row, "t_ns": interpretable.at(1)})}
    )

    assert {"what": "w", "affects": "a", "needed": "n", "state": "open"} in document["gaps"]


def test_a_torn_event_line_is_a_gap_that_names_it(tmp_path: Path) -> None:
    torn = interpretable.events() + b'{"event": "tok'

    document = read(tmp_path, **{layout.ENGINE_EVENTS: torn})

    lines = len(torn.splitlines())
    assert any(f"the first is {lines}" in g["what"] for g in document["gaps"])
    assert final(document, "server")[LOAD] == "completed"


@pytest.mark.req("8.03", "8.04")
@pytest.mark.forbids
def test_without_an_engine_record_the_server_ledger_stays_undetermined(tmp_path: Path) -> None:
    document = read(tmp_path, **{layout.ENGINE_EVENTS: b""})

    assert set(final(document, "server").values()) == {"undetermined"}
    assert document["reconciliation"]["received"] is None
    assert any(g["what"] == "server records" for g in document["gaps"])


def test_an_engine_clock_of_another_boot_is_not_subtracted(tmp_path: Path) -> None:
    foreign = interpretable.events().replace(b"boot/1/monotonic", b"boot/2/monotonic")

    document = read(tmp_path, **{layout.ENGINE_EVENTS: foreign})

    (ghost,) = document["ghost_load"]
    assert ghost["total_ns"] is None
    assert "not calibrated" in ghost["absent"]
    assert any("mapping of clock domain boot/2/monotonic" in g["what"] for g in document["gaps"])
    # Durations of the server's own clock stay.
    (load,) = [a for a in document["attempts"] if a["attempt_id"] == LOAD]
    assert load["metrics"]["ttft.server"]["value"] == pytest.approx(0.027)


def test_a_bundle_whose_engine_never_started_is_read_too(tmp_path: Path) -> None:
    document = read(tmp_path, **{layout.ATTEMPTS: [], "wire": [], layout.ENGINE_EVENTS: b""})

    assert document["attempts"] == []
    assert document["reconciliation"]["offered"] == 2
    assert document["reconciliation"]["differences"] == [
        "offered exceeds requests seen by 2: never created"
    ]


def test_withheld_wire_leaves_the_outcome_open_and_says_why(tmp_path: Path) -> None:
    interpretable.build(tmp_path / "bundle")
    manifest.withhold(
        tmp_path / "bundle", classes=frozenset({FileClass.wire}), reason="exported without content"
    )

    document = dict(written.read(interpret(tmp_path / "bundle", tmp_path / "derived").parent))

    assert final(document, "client") == {CASE: "cancelled", LOAD: "unfinalised"}
    assert any(g["what"].startswith("withheld from this copy: wire/") for g in document["gaps"])


def test_it_runs_as_a_process_of_its_own_without_django(tmp_path: Path) -> None:
    interpretable.build(tmp_path / "bundle")
    code = (
        "import sys; from assay.archive.interpretation import main; "
        "code = main(sys.argv[1:]); assert 'django' not in sys.modules; sys.exit(code)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "bundle"), str(tmp_path / "derived")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_file()


def test_a_folder_that_is_no_bundle_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from assay.archive.interpretation import main

    assert main([str(tmp_path), str(tmp_path / "derived")]) == 2
    assert "manifest.sha256" in capsys.readouterr().err


@pytest.mark.req("9.09", "9.10")
@pytest.mark.forbids
def test_permission_to_call_is_not_permission_to_look_inside(tmp_path: Path) -> None:
    only_client = {"points": interpretable.observation()["points"][:1]}

    document = read(tmp_path, **{layout.OBSERVATION: only_client})

    assert aggregate(document, "ttft.server", "mean")["limited_by"] == "E1"
    assert {r["level"] for r in document["ledgers"]["server"]} == {"E1"}


@pytest.mark.req("9.04", "9.05")
@pytest.mark.forbids
def test_every_interval_called_measured_has_two_recorded_events(
    reading: tuple[Path, dict[str, Any]],
) -> None:
    _, document = reading

    intervals = [i for lane in document["lanes"] for i in lane["intervals"]]
    assert {i["origin"] for i in intervals} == {"measured"}
    recorded = {json.loads(line)["event"] for line in interpretable.events().splitlines()}
    client = {
        "created",
        "connect_start",
        "connected",
        "sent",
        "first_content",
        "last_content",
        "done",
        "ended",
    }
    for interval in intervals:
        for event in (interval["start_event"], interval["end_event"]):
            assert event in recorded | client | {"last_token", "first_byte"}
