"""Results of real load clients in one form, and what is no such result."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.analysis.errors import BadRecord
from assay.archive.foreign import fields
from assay.archive.foreign.table import read_result
from tests.assay.archive.foreign.results import FILES, FOLDER


@pytest.mark.parametrize(
    ("tool", "version", "calls", "tokens"),
    [
        ("vllm_bench", None, 40, 1280),
        ("aiperf", "0.13.0", 40, 1280),
        ("guidellm", "0.8.1", 40, 1280),
        ("sglang_bench", None, 40, 1280),
        ("mlperf_loadgen", "6.0.17 @ d6147c7eb7", 0, 0),
    ],
)
def test_a_recorded_result_is_recognised_and_read(
    tool: str, version: str | None, calls: int, tokens: int
) -> None:
    found = read_result(FILES[tool])

    result = found.result
    assert (result.tool, result.version, len(result.calls)) == (tool, version, calls)
    assert sum(call.row.output_tokens or 0 for call in result.calls) == tokens
    assert all(call.row.ok and call.state == "completed" for call in result.calls)
    assert result.reported


def test_the_summary_beside_aiperf_s_records_is_part_of_the_result(tmp_path: Path) -> None:
    alone = tmp_path / "profile_export.jsonl"
    alone.write_bytes(FILES["aiperf"].read_bytes())

    beside, without = read_result(FILES["aiperf"]), read_result(alone)

    assert [p.name for p in beside.files] == ["profile_export.jsonl", "profile_export_aiperf.json"]
    # The tool divides by the length of its phase, which only the summary knows: 1.702062 s.
    assert beside.result.span is not None
    assert beside.result.span.length_s == pytest.approx(1.702062)
    assert without.result.span is None
    assert without.result.reported == []


def test_a_summary_alone_has_figures_and_no_requests() -> None:
    result = read_result(FOLDER / "aiperf" / "profile_export_aiperf.json").result

    assert result.calls == []
    assert {f.quantity for f in result.reported} >= {"ttft", "itl", "throughput.requests"}


def test_instants_are_the_start_and_then_gap_after_gap(tmp_path: Path) -> None:
    # Started 2 s after the first; first chunk after 0.25 s, then 0.5 s and 0.125 s later.
    document = vllm(
        start_times=[100.0, 102.0],
        ttfts=[0.5, 0.25],
        itls=[[], [0.5, 0.125]],
        input_lens=[3, 3],
        output_lens=[1, 3],
        errors=["", ""],
    )

    _, second = read_result(written(tmp_path, document)).result.calls

    assert second.row.start_ns == 2_000_000_000
    assert second.row.times_ns.tolist() == [2_250_000_000, 2_750_000_000, 2_875_000_000]


def test_a_failed_request_keeps_the_tool_s_words(tmp_path: Path) -> None:
    document = vllm(
        start_times=[0.0, 0.0],
        ttfts=[0.0, 0.1],
        itls=[[], []],
        input_lens=[3, 3],
        output_lens=[0, 1],
        errors=["Service Unavailable\u0007", ""],
    )

    first, second = read_result(written(tmp_path, document)).result.calls

    assert (first.state, first.failure) == ("failed", "reported: Service Unavailable")
    assert not first.row.ok
    assert np.array_equal(first.row.times_ns, [])
    assert (second.state, second.failure) == ("completed", None)


def test_one_of_several_results_is_chosen_by_number(tmp_path: Path) -> None:
    line = FILES["sglang_bench"].read_text()
    slower = line.replace('"duration": 1.', '"duration": 2.')
    path = tmp_path / "both.jsonl"
    path.write_text(line + slower)

    with pytest.raises(BadRecord, match=r"holds 2 results \(allowed: 1 to 2\)"):
        read_result(path)
    with pytest.raises(BadRecord, match=r"--part: 3 \(allowed: 1 to 2\)"):
        read_result(path, part=3)

    first, second = read_result(path, part=1).result, read_result(path, part=2).result
    assert first.span is not None
    assert second.span is not None
    assert second.span.length_s - first.span.length_s == pytest.approx(1.0)


def test_another_tool_s_file_is_not_the_asked_one() -> None:
    with pytest.raises(
        BadRecord, match=r"--from: aiperf \(allowed: guidellm, which report.json is"
    ):
        read_result(FILES["guidellm"], tool="aiperf")


def vllm(**changes: Any) -> dict[str, Any]:
    return {
        "endpoint_type": "openai-chat",
        "duration": 3.0,
        "completed": 1,
        "total_token_throughput": 1.0,
        **changes,
    }


def written(folder: Path, document: Any, name: str = "r.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(document) if not isinstance(document, str) else document)
    return path


LISTS = {
    "start_times": [0.0],
    "ttfts": [0.1],
    "itls": [[0.1]],
    "input_lens": [1],
    "output_lens": [2],
    "errors": [""],
}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("", r"JSON as the tool writes it"),
        ("[" * 100_000, r"JSON as the tool writes it"),
        ("[1, 2]", r"members no object"),
        ('{"a": 1}', r"members a \(allowed: vllm bench serve"),
        (vllm(duration=math.nan), r"duration: None \(allowed: a number"),
        (vllm(duration=-1), r"duration: -1 \(allowed: 0 to"),
        (vllm(duration=1e400), r"duration: None \(allowed: a number"),
        (vllm(duration=10**400), r"duration: 1000.* \(allowed: 0 to"),
        (vllm(**LISTS | {"itls": []}), r"lists of requests: .*itls 0.* \(allowed: lists of one"),
        (vllm(**LISTS | {"itls": [0.1]}), r"itls\[0\]: float \(allowed: a list"),
        (vllm(**LISTS | {"itls": [[-0.1]]}), r"itls\[0\]\[0\]: -0.1 \(allowed: 0 to"),
        (vllm(**LISTS | {"ttfts": ["soon"]}), r"ttfts\[0\]: 'soon' \(allowed: a number"),
        (vllm(**LISTS | {"output_lens": [1.5]}), r"output_lens\[0\]: 1.5 \(allowed: a whole"),
        (vllm(**LISTS | {"output_lens": [2**60]}), r"output_lens\[0\]: .* \(allowed: 0 to"),
        (vllm(**LISTS | {"errors": None}), r"errors: NoneType \(allowed: a list"),
        ({"metadata": {"guidellm_version": "1"}, "benchmarks": []}, r"holds 0 results"),
        ({"metadata": {"guidellm_version": "1"}, "benchmarks": [7]}, r"benchmark: int"),
        (":::MLLOG {oops", r"line 1: .* \(allowed: an MLLOG line"),
        (':::MLLOG {"key": "x", "value": 1}', r"loadgen_version: missing"),
    ],
)
def test_what_is_no_result_is_refused_by_name(tmp_path: Path, document: Any, words: str) -> None:
    with pytest.raises(BadRecord, match=words):
        read_result(written(tmp_path, document))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"metadata": 1, "metrics": {}}', r"line 1 metadata: int"),
        (
            '{"metadata": {"benchmark_phase": "profiling"}, "metrics": {}}',
            r"request_start_ns: None",
        ),
        ("not json", r"r.jsonl:1"),
        ("", r"members no object"),
    ],
)
def test_a_damaged_record_is_refused_with_its_line(tmp_path: Path, line: str, words: str) -> None:
    with pytest.raises(BadRecord, match=words):
        read_result(written(tmp_path, line, "r.jsonl"))


def test_a_file_beyond_the_limit_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fields, "MOST_BYTES", 10)

    with pytest.raises(BadRecord, match=r"at most 10 bytes"):
        read_result(written(tmp_path, vllm()))
