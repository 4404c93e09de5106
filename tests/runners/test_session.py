"""A whole run of a real engine process: what is in the bundle afterwards, and what is told."""

import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from runners.protocol import layout, manifest
from runners.protocol.workspace import json_lines
from tests.runners import prepared
from tests.runners.prepared import gaps, session_rows


def document(out: Path, name: str) -> Any:
    return json.loads((out / "bundle" / name).read_bytes())


def table(out: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(out / "bundle" / name)


def test_the_run_is_sealed_and_verifies(sealed_once: Path) -> None:
    header = manifest.read(sealed_once / "bundle")

    assert manifest.verify(sealed_once / "bundle").ok
    assert header["state"] == "sealed"
    assert header["run_id"].startswith("0197a000")
    assert (header["spec_digest"], header["plan_digest"]) == ("1" * 64, "2" * 64)
    assert header["level"] == "E2"
    predictions = manifest.sha256_of(sealed_once / "bundle" / layout.PREDICTIONS)
    assert header["predictions_digest"] == predictions


def test_the_phases_come_in_order_and_the_profile_after_the_measured_window(
    sealed_once: Path,
) -> None:
    rows = session_rows(sealed_once, "phase_start")

    assert [r["phase"] for r in rows] == ["warmup", "measure", "drain", "profile"]
    events = [r["event"] for r in json_lines(sealed_once / "bundle" / layout.SESSION)]
    order = ["prepared", "predictions_registered", "launch", "ready", "identified", "phase_start"]
    assert [e for e in dict.fromkeys(events) if e in order] == order
    assert events[-1] == "sealed"


@pytest.mark.req("13.19")
def test_predictions_are_registered_by_digest_before_the_launch(sealed_once: Path) -> None:
    [registered] = session_rows(sealed_once, "predictions_registered")
    [launch] = session_rows(sealed_once, "launch")

    assert registered["t_ns"] < launch["t_ns"]
    path = sealed_once / "bundle" / layout.PREDICTIONS
    assert registered["sha256"] == manifest.sha256_of(path)


def test_every_request_of_the_plan_has_one_final_attempt(sealed_once: Path) -> None:
    attempts = table(sealed_once, layout.ATTEMPTS)

    ends = dict(attempts.select("attempt_id", "end").iter_rows())
    assert len(ends) == attempts.height == sum(prepared.SEGMENTS.values())
    assert ends.pop("cases-0001.A1") == "cancel"
    assert set(ends.values()) == {"closed"}


def test_the_wire_holds_what_the_engine_sent(sealed_once: Path) -> None:
    wire = table(sealed_once, "wire/0-0.parquet").filter(pl.col("attempt_id") == "load-0001.A1")

    received = b"".join(wire["data"].to_list())
    assert received.startswith(b"HTTP/1.1 200")
    assert b"[DONE]" in received


@pytest.mark.req("3.17")
def test_clocks_name_the_domain_its_anchors_and_the_clients_own_error(sealed_once: Path) -> None:
    clocks = document(sealed_once, layout.CLOCKS)

    [domain] = clocks["domains"]  # engine and client share it
    assert domain["id"] == clocks["client_domain"]
    assert (domain["calibration"], domain["error_ns"]) == ("reference", 0)
    assert domain["clock"] == "monotonic"
    assert domain["host"]
    assert domain["id"].split("/")[:2] == [domain["boot_id"], domain["time_namespace"]]
    assert len(clocks["anchors"]) >= 2
    first = json_lines(sealed_once / "bundle" / layout.SESSION)[0]
    assert clocks["origin_ns"] == first["t_ns"]
    assert clocks["client_error"]["segment"] == "load"
    assert set(clocks["client_error"]["by_segment"]) == {"warmup", "cases", "load", "profile"}


def test_the_clients_error_is_measured_before_the_run_and_kept_for_the_next(tmp_path: Path) -> None:
    kept = tmp_path / "calibrations"
    first = prepared.prepare(tmp_path / "one", evidence={"calibrate_client": True})
    second = prepared.prepare(tmp_path / "two", evidence={"calibrate_client": True})

    for out in (first, second):
        code, _, errors = prepared.run("execute", out, "--calibrations", str(kept))
        assert code == 0, errors

    error = document(first, layout.CLOCKS)["client_error"]
    own = error["self_calibration"]
    assert own["streams"] == 2  # the slots of the load in the echo plan
    assert own["n_events"] == own["expected_events"] > 0
    assert own["arrival_error"]["p99_ns"] > 0
    assert error["disturbance"]["samples"] >= 2
    assert error["disturbance"]["disturbed"] == (error["disturbance"]["others_cores_mean"] > 0.2)
    # Kept only if nothing disturbed it; then the second run measures nothing.
    again = document(second, layout.CLOCKS)["client_error"]["self_calibration"]
    assert again["cached"] is (own["disturbed"] is False)


def test_observation_points_say_layer_perspective_and_losses(sealed_once: Path) -> None:
    seen = document(sealed_once, layout.OBSERVATION)

    points = {p["point"]: p for p in seen["points"]}
    assert points["client_socket"]["perspective"] == "client"
    assert points["client_socket"]["dropped"] == 0
    assert points["engine_front"]["layer"] == "engine_front"
    assert points["engine_metrics"]["rate_hz"] == 10.0
    assert seen["streams"]["attempts.parquet"] == {"rows": 10, "complete": True}
    assert seen["level"] == "E2"


@pytest.mark.req("9.02")
def test_the_two_ends_are_captured_first_then_the_interior(sealed_once: Path) -> None:
    """In the list of points, and in time: what looks inside (the trace) begins after the measured window."""
    points = [p["point"] for p in document(sealed_once, layout.OBSERVATION)["points"]]
    ends = {r["phase"]: r["t_ns"] for r in session_rows(sealed_once, "phase_end")}
    starts = {r["phase"]: r["t_ns"] for r in session_rows(sealed_once, "phase_start")}

    assert points[:2] == ["client_socket", "engine_front"]
    assert set(points[2:]) >= {"host", "engine_metrics"}
    assert ends["measure"] <= starts["profile"]


def test_host_engine_client_and_observers_are_all_in_the_telemetry(sealed_once: Path) -> None:
    telemetry = table(sealed_once, layout.TELEMETRY)

    assert set(telemetry["subject"]) == {"host", "client", "engine", "keeper", "sampler"}
    assert table(sealed_once, layout.SCRAPES)["body"].str.contains("echo_requests_total").any()


def test_the_release_is_checked_with_evidence(sealed_once: Path) -> None:
    checks = {r["check"]: r for r in session_rows(sealed_once, "release_check")}

    assert {c["state"] for c in checks.values()} == {"released"}
    line = checks["processes"]["evidence"]["line"]
    journal = (sealed_once / "bundle" / layout.KEEPER).read_text().splitlines()
    assert json.loads(journal[line - 1])["event"] == "released"


def test_the_trace_says_which_shapes_it_covers(sealed_once: Path) -> None:
    [profile] = [r for r in session_rows(sealed_once, "phase_end") if r["phase"] == "profile"]

    assert profile["files"] == ["trace/trace.json"]
    assert profile["shapes"] == [{"request_id": "profile-0001", "input_tokens": 3, "output_cap": 4}]


def test_progress_counts_the_whole_plan(sealed_once: Path) -> None:
    told = json_lines(sealed_once / layout.PROGRESS)

    driven = [row for row in told if row["phase"] in ("warmup", "measure", "drain", "profile")]
    assert {row["total"] for row in driven} == {10}
    assert driven[-1]["done"] == 10
    assert [row["done"] for row in driven] == sorted(row["done"] for row in driven)


def test_only_the_bundle_is_needed_afterwards(sealed_once: Path) -> None:
    assert list((sealed_once / "segments").iterdir()) == []
    assert not (sealed_once / "reserve").exists()


@pytest.mark.forbids
def test_an_execution_runs_only_once(sealed_once: Path) -> None:
    before = (sealed_once / "bundle" / layout.MANIFEST).read_bytes()

    code, told, errors = prepared.run("execute", sealed_once)

    assert (code, told["state"]) == (2, "refused")
    assert "was executed already" in errors
    assert (sealed_once / "bundle" / layout.MANIFEST).read_bytes() == before


def test_a_folder_that_was_not_prepared_is_refused(tmp_path: Path) -> None:
    code, told, errors = prepared.run("execute", tmp_path)

    assert code == 2
    assert "prepare" in errors
    assert told["findings"][0]["field"].endswith("context.json")
    assert list(tmp_path.iterdir()) == []


def test_an_engine_that_cannot_be_started_here_is_refused_with_nothing_launched(
    tmp_path: Path,
) -> None:
    out = prepared.prepare(tmp_path / "run", settings={"problem": "echo: not installed"})

    code, told, errors = prepared.run("execute", out)

    assert (code, told["state"]) == (3, "refused")
    assert "echo: not installed" in errors
    assert not (out / "bundle" / layout.SESSION).exists()


def test_cores_this_process_may_not_use_are_refused(tmp_path: Path) -> None:
    out = prepared.prepare(tmp_path / "run", client_cores=[4096])

    code, _, errors = prepared.run("execute", out)

    assert code == 3
    assert "4096" in errors


@pytest.mark.req("2.06")
def test_an_item_without_evidence_leaves_the_run_sealed_and_incomplete(tmp_path: Path) -> None:
    settings = {"unidentified": ["precision_path"], "faults": ["no_profile"]}
    out = prepared.prepare(tmp_path / "run", settings=settings)

    code, told, _ = prepared.run("execute", out)

    identity = document(out, layout.IDENTITY)
    assert (code, told["state"]) == (0, "sealed")
    assert (identity["complete"], identity["missing"]) == (False, ["precision_path"])
    assert "answered but wrote no file" in gaps(out)
    assert "no prediction is registered" in gaps(out)  # none was given
    assert "the variability of search, which is mocked" in gaps(out)  # as declared


def test_an_adapter_that_fails_on_the_evidence_does_not_lose_the_run(tmp_path: Path) -> None:
    out = prepared.prepare(tmp_path / "run", settings={"broken_identity": True})

    code, _, _ = prepared.run("execute", out)

    assert code == 0
    assert "no such line in the log" in gaps(out)
    assert document(out, layout.IDENTITY)["complete"] is False


def test_secrets_reach_no_file(tmp_path: Path) -> None:
    out = prepared.prepare(
        tmp_path / "run", settings={"faults": ["leak"]}, secret_names=["ECHO_KEY"]
    )

    code, _, _ = prepared.run("execute", out, ECHO_KEY="do-not-keep-this")

    assert code == 0
    for path in out.rglob("*"):
        assert not path.is_file() or b"do-not-keep-this" not in path.read_bytes(), path
    log = (out / "bundle" / layout.ENGINE_LOG).read_text()
    assert "key=[redacted value:ECHO_KEY] max_tokens=8 use_cls_token=True" in log
    entries = document(out, layout.REDACTIONS)["replaced"]
    where = {(e["file"], e.get("pointer"), e["rule"]) for e in entries}
    assert ("server_info.json", "/api_key", "value:ECHO_KEY") in where
    assert ("engine.log", None, "value:ECHO_KEY") in where
    wire = table(out, "wire/0-0.parquet").filter(pl.col("attempt_id") == "load-0001.A1")
    assert b"****************" in b"".join(wire["data"].to_list())
    assert any(e["file"] == "wire" and e["attempt_id"] == "load-0001.A1" for e in entries)
    [offset] = [e["offset"] for e in entries if e["file"] == "engine.log"]
    assert log.encode()[offset:].startswith(b"[redacted value:ECHO_KEY]")


def test_without_content_no_answer_is_kept_and_the_loss_is_named(tmp_path: Path) -> None:
    out = prepared.prepare(tmp_path / "run", evidence={"content": "digest"})

    code, _, _ = prepared.run("execute", out)

    assert code == 0
    wire = table(out, "wire/0-0.parquet")
    assert wire["data"].null_count() == wire.height > 0
    assert wire["bytes"].min() > 0
    assert "the bytes of wire/ are not kept" in gaps(out)
    assert document(out, layout.OBSERVATION)["content"]["kept"] == "digest"
    assert len(document(out, layout.OBSERVATION)["content"]["salt"]) == 32
    assert manifest.verify(out / "bundle").ok


@pytest.mark.req("13.19")
@pytest.mark.forbids
def test_predictions_of_another_run_are_not_registered(tmp_path: Path) -> None:
    out = prepared.prepare(tmp_path / "run")
    prepared.predict(out, plan_digest="9" * 64)

    code, _, _ = prepared.run("execute", out)

    assert code == 0
    assert session_rows(out, "predictions_registered") == []
    assert "its plan_digest is 999" in gaps(out)
    assert not (out / "bundle" / layout.PREDICTIONS).exists()
    assert manifest.read(out / "bundle")["predictions_digest"] is None


def test_a_flooding_engine_log_is_bounded_and_the_loss_is_a_gap(tmp_path: Path) -> None:
    out = prepared.prepare(
        tmp_path / "run",
        settings={"faults": ["flood"]},  # 20,000 lines of 101 bytes: 2,020,000
        evidence={"stream_limit_bytes": 200_000},
    )

    code, _, _ = prepared.run("execute", out)

    assert code == 0
    log = (out / "bundle" / layout.ENGINE_LOG).read_text()
    assert 150_000 < len(log) < 300_000
    assert "line 00000000" in log
    assert "line 00019999" in log
    assert "left out at the limit of 200000" in gaps(out)


def test_a_pinned_client_does_not_pin_its_engine(tmp_path: Path) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    out = prepared.prepare(tmp_path / "run", client_cores=allowed[:1])

    code, _, _ = prepared.run("execute", out)

    assert code == 0
    assert session_rows(out, "prepared")[0]["client_cores"] == allowed[:1]
    journal = json_lines(out / "bundle" / layout.KEEPER)
    assert [r["cores"] for r in journal if r["event"] == "started"] == [allowed]
