"""``assay interpret``: the stable JSON form, errors, and no Django."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.cli.main import main
from tests.assay.analysis.streams import SAMPLE, lines, row

WIRE = str(SAMPLE / "wire.jsonl")
EVENTS = str(SAMPLE / "events.jsonl")


def interpreted(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["interpret", "--json", *arguments]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_its_json_has_the_names_of_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    document = interpreted(
        capsys, "--wire", WIRE, "--events", EVENTS, "--slo", "ttft=5s", "--window", "0:7s"
    )

    assert {
        "definition_version",
        "attempts",
        "aggregates",
        "ledgers",
        "reconciliation",
        "gaps",
    } <= set(document)
    attempt = document["attempts"][0]
    assert {
        "attempt_id",
        "client_state",
        "failure",
        "timestamps_ns",
        "counts",
        "prompt_tokens",
        "cached_tokens",
        "text",
        "reasoning_text",
        "tool_calls",
        "finish_reason",
        "chunk_times_ns",
        "chunk_tokens",
        "metrics",
    } <= set(attempt)
    assert {
        "scheduled",
        "sent",
        "first_byte",
        "first_content_event",
        "first_visible",
        "last_content",
        "done",
    } <= set(attempt["timestamps_ns"])
    assert {"token_ids", "usage", "retokenized", "content_chunks", "events"} <= set(
        attempt["counts"]
    )
    for metric in attempt["metrics"].values():
        assert {"value", "unit", "absent"} <= set(metric)
        assert (metric["value"] is None) == bool(metric["absent"])
    for aggregate in document["aggregates"]:
        assert {
            "rule",
            "statistic",
            "value",
            "unit",
            "interval",
            "interval_kind",
            "percentile_rule",
            "n",
            "of",
            "population",
            "denominator",
            "perspective",
            "clock_domain",
            "limited_by",
            "absent",
        } <= set(aggregate)
    assert list(document["ledgers"]) == ["client", "server", "task", "resource"]
    for ledger in document["ledgers"].values():
        for entry in ledger:
            assert {
                "subject",
                "subject_type",
                "ids",
                "state",
                "from_ns",
                "to_ns",
                "clock_domain",
                "error_ns",
                "evidence",
                "level",
            } <= set(entry)
    assert {
        "offered",
        "created",
        "sent",
        "received",
        "completed",
        "failed",
        "timeout",
        "cancelled",
        "rejected",
        "unfinalised",
    } <= set(document["reconciliation"])
    for gap in document["gaps"]:
        assert {"what", "affects", "needed", "state"} <= set(gap)


def test_without_json_it_is_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["interpret", "--wire", WIRE, "--events", EVENTS]) == 0

    out = capsys.readouterr().out
    assert "R2.A1" in out
    assert "ghost load of R2.A1: 3100 ms" in out
    assert "release level" in out


def test_level_e0_limits_every_statement(capsys: pytest.CaptureFixture[str]) -> None:
    document = interpreted(capsys, "--wire", WIRE, "--events", EVENTS, "--level", "E0")

    assert {a["limited_by"] for a in document["aggregates"]} == {"E0"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--wire", "nowhere.jsonl"], "--wire: nowhere.jsonl: no such file"),
        (["--wire", WIRE, "--slo", "ttft=5"], "--slo ttft"),
        (["--wire", WIRE, "--window", "9:5"], "--window"),
        (["--wire", WIRE, "--events", "nowhere.jsonl"], "--events"),
    ],
)
def test_bad_input_is_refused_on_stderr_alone(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["interpret", "--json", *arguments]) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert words in captured.err


def test_a_line_nested_without_end_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wire = tmp_path / "deep.jsonl"
    wire.write_text("[" * 200_000)

    assert main(["interpret", "--wire", str(wire)]) == 2

    assert "error: deep.jsonl:1: " in capsys.readouterr().err


def test_a_broken_line_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wire = tmp_path / "cut.jsonl"
    wire.write_text("\n".join([*lines([row("sent", 0)]), '{"attempt_id": "a"']))

    assert main(["interpret", "--wire", str(wire)]) == 2

    assert "error: cut.jsonl:2" in capsys.readouterr().err


def test_it_reads_stdin_from_any_folder_and_needs_no_django(tmp_path: Path) -> None:
    code = (
        "import sys; from assay.cli.main import main; "
        "code = main(['interpret', '--wire', '-', '--json']); "
        "assert not {'django', 'celery', 'plotly'} & set(sys.modules); sys.exit(code)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        input=Path(WIRE).read_bytes(),
        capture_output=True,
        cwd=tmp_path,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["attempts"]) == 3
