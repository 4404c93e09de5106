"""A result of another load client as an E1 archive: whole, sealed, read on the usual way, with its gaps."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from assay.archive.foreign.bundle import seal
from assay.archive.foreign.table import read_result
from assay.archive.interpretation import interpret
from assay.archive.summary import summarise
from runners.protocol import layout, manifest
from runners.protocol.events import ResourceLimit
from tests.assay.archive.foreign.results import FILES, FOLDER

TOOLS = tuple(FILES)


def reading(folder: Path, file: Path) -> dict[str, Any]:
    seal(read_result(file), folder / "bundle")
    found: dict[str, Any] = json.loads(
        interpret(folder / "bundle", folder / "derived").read_bytes()
    )
    return found


def figures(document: dict[str, Any], rule: str) -> dict[str, Any]:
    return {a["statistic"]: a for a in document["aggregates"] if a["rule"] == rule}


@pytest.mark.parametrize("tool", TOOLS)
def test_it_is_a_sound_bundle_of_level_e1_around_the_original_file(
    tmp_path: Path, tool: str
) -> None:
    out = tmp_path / "bundle"

    digest = seal(read_result(FILES[tool]), out)

    assert manifest.verify(out).ok
    summary = summarise(out)
    assert (summary.digest, summary.level) == (digest, ResourceLimit.E1)
    assert not summary.identity_complete
    kept = out / layout.FOREIGN_ORIGINAL / FILES[tool].name
    assert kept.read_bytes() == FILES[tool].read_bytes()
    listed = {e["path"]: e["class"] for e in manifest.read(out)["files"]}
    assert listed[f"recorded/original/{FILES[tool].name}"] == "client"
    assert not [path for path in listed if path.startswith("wire") or path.endswith("wire.jsonl")]


def test_sealing_the_same_result_again_is_the_same_bundle(tmp_path: Path) -> None:
    again = tmp_path / FILES["guidellm"].name
    again.write_bytes(FILES["guidellm"].read_bytes())
    os.utime(again, (1_796_022_671, 1_796_022_671))

    one = seal(read_result(again), tmp_path / "one")
    two = seal(read_result(again), tmp_path / "two")

    assert one == two


@pytest.mark.req("9.08")
@pytest.mark.parametrize("tool", TOOLS)
def test_what_the_result_lacks_is_a_gap(tmp_path: Path, tool: str) -> None:
    document = reading(tmp_path, FILES[tool])

    gaps = {g["what"] for g in document["gaps"]}
    assert gaps >= {
        "wire bytes of every reply",
        "artifact identity, chat template and tokenizer",
        "clock and own error of the client that measured",
        "scheduled times",
    }
    assert ("version of the tool" in gaps) == (tool in {"vllm_bench", "sglang_bench"})
    assert ("start times of requests" in gaps) == (tool == "sglang_bench")
    assert ("single requests" in gaps) == (tool == "mlperf_loadgen")
    assert ("what kind of tokens the tool counted" in gaps) == (tool not in {"aiperf", "guidellm"})
    assert {a["limited_by"] for a in document["aggregates"]} == {"E1"}
    assert {i["strength"] for i in document["identity"]} == {"none"}


@pytest.mark.parametrize("tool", TOOLS)
def test_only_the_tool_s_own_column_is_beside_our_rules(tmp_path: Path, tool: str) -> None:
    document = reading(tmp_path, FILES[tool])

    named = {a["rule"].rpartition(".as_")[2] for a in document["aggregates"] if ".as_" in a["rule"]}
    assert named == {tool}
    printed = {(f.quantity, f.statistic): f.value for f in read_result(FILES[tool]).result.reported}
    for (quantity, statistic), value in printed.items():
        entry = figures(document, f"{quantity}.as_{tool}")[statistic]
        assert entry["value"] == pytest.approx(value, rel=1e-6, abs=3e-7)


def test_ledgers_are_the_client_s_alone(tmp_path: Path) -> None:
    document = reading(tmp_path, FILES["aiperf"])

    assert document["ledger_counts"]["client"] == {"completed": 40}
    assert document["ledger_counts"]["server"] == {"undetermined": 40}
    assert document["ledger_counts"]["resource"] == {"unknown": 40}
    assert document["reconciliation"]["received"] is None


def test_instants_that_the_tool_recorded_feed_our_own_rules(tmp_path: Path) -> None:
    document = reading(tmp_path, FILES["aiperf"])

    # AIPerf's TTFT and ours are the same thing: first content minus send. Ours is by nearest rank: 20 of 40.
    ttft, theirs = (
        figures(document, "ttft.first_content.client"),
        figures(document, "ttft.as_aiperf"),
    )
    assert ttft["mean"]["value"] == pytest.approx(theirs["mean"]["value"])
    assert ttft["p99"]["absent"] == "too few samples for p99: 40, at least 100 are needed"
    assert theirs["p99"]["interval_kind"] == "none: too few samples for p99"
    gaps = figures(document, "itl.chunk_gap")["mean"]
    assert gaps["value"] == pytest.approx(figures(document, "itl.as_aiperf")["mean"]["value"])
    assert gaps["n"] == 40 * 31


@pytest.mark.req("9.10")
@pytest.mark.forbids
def test_a_role_only_event_that_the_tool_took_for_a_token_is_no_first_content(
    tmp_path: Path,
) -> None:
    document = reading(tmp_path, FILES["vllm_bench"])

    assert figures(document, "ttft.as_vllm_bench")["mean"]["value"] is not None
    assert not figures(document, "ttft.first_content.client")
    assert not figures(document, "itl.chunk_gap")


def test_what_sglang_s_file_cannot_give_is_as_it_reported(tmp_path: Path) -> None:
    document = reading(tmp_path, FILES["sglang_bench"])

    ttft, e2e = figures(document, "ttft.as_sglang_bench"), figures(document, "e2e.as_sglang_bench")
    assert ttft["mean"]["population"].endswith("computed from its record of each request")
    assert e2e["mean"]["population"].endswith(
        "as the tool reported, not computed again: "
        "the file holds neither start times nor latencies of requests"
    )
    assert not figures(document, "e2e.client")


@pytest.mark.parametrize("tool", ["vllm_bench", "guidellm", "sglang_bench", "mlperf_loadgen"])
def test_tokens_whose_arrival_nobody_kept_are_no_zero(tmp_path: Path, tool: str) -> None:
    entry = figures(reading(tmp_path, FILES[tool]), "throughput.output_tokens")["rate"]

    assert (entry["value"], entry["n"]) == (None, 0)
    assert entry["absent"]


def test_a_failed_request_is_failed_in_its_words(tmp_path: Path) -> None:
    lines = FILES["aiperf"].read_text().splitlines()
    broken = json.loads(lines[0])
    broken["error"] = {"code": 503, "type": "Service Unavailable", "message": "full"}
    broken["metrics"] = {}
    path = tmp_path / "profile_export.jsonl"
    path.write_text("\n".join([json.dumps(broken), *lines[1:]]))

    document = reading(tmp_path, path)

    assert document["ledger_counts"]["client"] == {"completed": 39, "failed": 1}
    assert figures(document, "failed.as_aiperf")["count"]["value"] == 1
    assert figures(document, "throughput.requests.as_aiperf")["rate"]["n"] == 39


def test_a_summary_alone_is_an_archive_without_requests(tmp_path: Path) -> None:
    document = reading(tmp_path, FOLDER / "aiperf" / "profile_export_aiperf.json")

    assert document["ledger_counts"]["client"] == {}
    entry = figures(document, "ttft.as_aiperf")["mean"]
    assert entry["population"].endswith("as the tool reported, not computed again")


def test_a_reading_is_the_same_twice(tmp_path: Path) -> None:
    seal(read_result(FILES["guidellm"]), tmp_path / "bundle")

    first = interpret(tmp_path / "bundle", tmp_path / "derived").read_bytes()

    assert interpret(tmp_path / "bundle", tmp_path / "derived").read_bytes() == first
