"""What a bundle says of its load: the declaration, and what its drive said of stages."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.analysis.load_windows import LoadShape, Stage
from assay.archive.bundle_inputs import load_shape
from assay.archive.readers import Bundle, SessionRow


def shape(folder: Path, load: dict[str, Any], report: dict[str, Any] | None = None) -> LoadShape:
    (folder / "spec.json").write_text(json.dumps({"load": load}), encoding="utf-8")
    (folder / "clocks.json").write_text(json.dumps({"origin_ns": 1_000}), encoding="utf-8")
    ends = {"segment": "load", "report": report or {}}
    session = [SessionRow(event="segment_end", t_ns=0, fields=ends, evidence="session.jsonl:1")]
    return load_shape(Bundle(folder), session)


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (
            {"kind": "closed", "concurrency": 4, "think_time_s": 0.5},
            LoadShape(concurrency=4, kind="closed", thinks=True),
        ),
        ({"kind": "closed", "concurrency": 4}, LoadShape(concurrency=4, kind="closed")),
        ({"kind": "poisson", "concurrency": None}, LoadShape(open_loop=True, kind="poisson")),
        ({"kind": "burst"}, LoadShape(open_loop=True, kind="burst")),
        ({}, LoadShape()),
    ],
)
def test_the_shape_follows_the_declaration(
    tmp_path: Path, load: dict[str, Any], expected: LoadShape
) -> None:
    assert shape(tmp_path, load) == expected


def test_stages_count_from_the_run_s_origin_and_what_was_left_was_never_offered(
    tmp_path: Path,
) -> None:
    report = {
        "stop_reason": "profile_done",
        "not_created": 7,
        "stages": [
            {"from_ns": 1_500, "to_ns": 2_000, "concurrency": 2},
            {"from_ns": 2_000, "to_ns": 2_000, "concurrency": 3},  # over before it began
        ],
    }

    found = shape(tmp_path, {"kind": "staged", "concurrency": None}, report)

    assert found.stages == (Stage(from_ns=500, to_ns=1_000, concurrency=2),)
    assert (found.open_loop, found.withheld) == (False, 7)


def test_what_a_stop_rule_kept_from_being_sent_stays_offered(tmp_path: Path) -> None:
    report = {"stop_reason": "max_duration", "not_created": 7}

    assert shape(tmp_path, {"kind": "poisson"}, report).withheld == 0
