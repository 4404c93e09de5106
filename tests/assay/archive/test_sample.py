"""The two-request sample as a sealed E0 bundle."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assay.analysis.documents import LEDGERS
from assay.analysis.errors import BadRecord
from assay.archive.interpretation import interpret
from assay.archive.sample import build_e0_bundle, main
from assay.archive.summary import summarise
from runners.protocol import layout, manifest
from runners.protocol.events import ResourceLimit
from tests.assay.analysis.streams import SAMPLE
from tests.assay.archive import written

NOW = datetime(2026, 11, 29, tzinfo=UTC)


def seal(out: Path, **changes: Any) -> str:
    declaration = json.loads((SAMPLE / "declaration.json").read_bytes())
    return build_e0_bundle(
        wire=SAMPLE / "wire.jsonl",
        events=SAMPLE / "events.jsonl",
        declaration={**declaration, **changes},
        out=out,
        sealed_at=NOW,
    )


@pytest.mark.req("9.08", "9.11")
def test_it_is_a_sound_bundle_of_level_e0_and_incomplete(tmp_path: Path) -> None:
    digest = seal(tmp_path / "bundle")

    assert manifest.verify(tmp_path / "bundle").ok
    summary = summarise(tmp_path / "bundle")
    assert summary.digest == digest
    assert summary.level is ResourceLimit.E0
    assert not summary.identity_complete
    assert summary.study == "two_requests"


def test_sealing_the_same_stream_again_is_the_same_bundle(tmp_path: Path) -> None:
    assert seal(tmp_path / "one") == seal(tmp_path / "two")


@pytest.mark.req("8.01", "9.12", "9.13", "8.21")
def test_it_reads_into_four_ledgers_a_ghost_load_and_three_gaps(tmp_path: Path) -> None:
    seal(tmp_path / "bundle")

    document = written.read(interpret(tmp_path / "bundle", tmp_path / "derived").parent)

    assert document["ledger_counts"] == {
        "client": {"completed": 2, "timeout": 1},
        "server": {"completed": 3},
        "task": {"success": 2},
        "resource": {"unknown": 3},
    }
    (ghost,) = document["ghost_load"]
    assert (ghost["attempt_id"], ghost["total_ns"]) == ("R2.A1", 3_100_000_000)
    assert [g["what"] for g in document["gaps"]] == [
        "internal queue and batch-assembly instants",
        "actual execution path",
        "release level",
    ]
    assert document["contract"]["origin"] == "declared"
    ghost_evidence = [
        r["evidence"] for r in document["ledgers"]["server"] if r["subject"] == "R2.A1"
    ]
    assert ghost_evidence == ["recorded/events.jsonl:14", "recorded/events.jsonl:15"]


@pytest.mark.req("9.11")
@pytest.mark.forbids
def test_an_e0_archive_turns_nothing_into_e2(tmp_path: Path) -> None:
    seal(tmp_path / "bundle")

    document = written.read(interpret(tmp_path / "bundle", tmp_path / "derived").parent)

    ledgers = (document["ledgers"][name] for name in LEDGERS)  # type: ignore[literal-required]
    assert {a["limited_by"] for a in document["aggregates"]} == {"E0"}
    assert {r["level"] for rows in ledgers for r in rows} == {"E0"}
    assert {i["strength"] for i in document["identity"]} == {"none"}
    assert all(i["ran"] is None and i["reason"] for i in document["identity"])


def test_a_stream_that_cannot_be_read_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    broken = tmp_path / "wire.jsonl"
    broken.write_text('{"attempt_id": "a", "t_ns": 0, "kind": "sent"}\n{"kind"\n')

    with pytest.raises(BadRecord, match=r"wire\.jsonl:2"):
        build_e0_bundle(
            wire=broken,
            events=None,
            declaration=json.loads((SAMPLE / "declaration.json").read_bytes()),
            out=tmp_path / "bundle",
            sealed_at=NOW,
        )

    assert not (tmp_path / "bundle").exists()


def test_a_declaration_without_a_contract_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRecord, match=r"declaration\.json contract"):
        seal(tmp_path / "bundle", contract=None)


def test_the_command_seals_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(SAMPLE), str(tmp_path / "bundle")]) == 0

    digest = capsys.readouterr().out.strip()
    assert (tmp_path / "bundle" / layout.MANIFEST_DIGEST).read_text().strip() == digest
    assert main([str(SAMPLE), str(tmp_path / "bundle")]) == 2
