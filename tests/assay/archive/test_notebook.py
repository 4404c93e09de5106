"""Frames of a bundle for notebooks: what the archive holds, nothing that could change it."""

import re
from pathlib import Path

import polars as pl
import pytest

from assay.archive.errors import ArchiveError
from assay.archive.notebook import OpenBundle, open_bundle, units
from assay.archive.paths import Home
from tests.assay.archive.stored_run import stored_run

PAGE = Path(__file__).parents[3] / "docs" / "notebooks.md"


@pytest.fixture
def digest(assay_home: Home, tmp_path: Path) -> str:
    return stored_run(assay_home, tmp_path)


@pytest.fixture
def run(digest: str) -> OpenBundle:
    return open_bundle(digest[:12])


def test_attempts_are_all_of_them_with_rules_and_units(run: OpenBundle) -> None:
    attempts = run.attempts()

    assert attempts.height == 28  # failed, cancelled and timed out ones included
    assert {"completed", "cancelled", "timeout"} <= set(attempts["client_state"])
    assert units(attempts)["ttft.first_content.client"] == "s"
    assert units(attempts)["sent_ns"] == "ns"
    assert "absent.ttft.first_content.client" not in units(attempts)


def test_chunks_are_the_content_events_of_each_reply(run: OpenBundle) -> None:
    chunks = run.chunks()
    of_one = chunks.filter(pl.col("attempt_id") == "cases-0001.A1")
    attempts = run.attempts()

    assert chunks.height == attempts["content_chunks"].sum()
    assert of_one["number"].to_list() == list(range(of_one.height))
    assert of_one["t_ns"].is_sorted()
    last = attempts.filter(pl.col("attempt_id") == "cases-0001.A1")["last_content_ns"].item()
    assert of_one["t_ns"].max() == last


def test_ledgers_come_whole_or_by_name(run: OpenBundle) -> None:
    assert set(run.ledgers()["ledger"]) == {"client", "server", "task", "resource"}
    assert set(run.ledgers("task")["ledger"]) == {"task"}


@pytest.mark.forbids
def test_a_fifth_ledger_is_refused(run: OpenBundle) -> None:
    with pytest.raises(ArchiveError, match="allowed: client, server, task, resource"):
        run.ledgers("status")


def test_metrics_and_residuals_keep_what_is_unknown(run: OpenBundle) -> None:
    metrics, residuals = run.metrics(), run.residuals()

    absent = metrics.filter(pl.col("absent").is_not_null())
    assert absent.height > 0
    assert absent["value"].null_count() == absent.height
    assert {"low", "high", "unit", "n", "of", "population"} <= set(metrics.columns)
    assert {"predicted", "measured", "bound", "conditions", "class"} <= set(residuals.columns)


def test_captured_tables_count_from_the_runs_origin(run: OpenBundle) -> None:
    for frame in (run.telemetry(), run.scrapes()):
        assert "t_ns" in frame.columns
        assert (
            frame.filter(pl.col("t_ns") > 10**12).height == 0
        )  # no instant of the host's own clock


def test_a_frame_is_a_copy(run: OpenBundle) -> None:
    frame = run.attempts()
    frame[0, "client_state"] = "changed"

    assert "changed" not in set(run.attempts()["client_state"])


def test_a_folder_elsewhere_is_opened_too(run: OpenBundle, digest: str) -> None:
    assert open_bundle(run.bundle.folder).digest == digest


@pytest.mark.forbids
def test_what_is_not_there_is_refused_by_name(assay_home: Home) -> None:
    with pytest.raises(ArchiveError):
        open_bundle("0123456789abcdef")


def test_the_example_of_the_page_runs(digest: str, capsys: pytest.CaptureFixture[str]) -> None:
    [example] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)

    exec(compile(example, str(PAGE), "exec"), {"DIGEST": digest})

    said = capsys.readouterr().out
    assert "of 28 attempts, median" in said
    assert "longest time between two content events" in said
