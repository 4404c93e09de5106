"""Predictions count as they were registered before launch, or not at all."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.archive.interpretation import interpret
from runners.protocol import layout, manifest
from tests.assay.archive import interpretable

PREDICTIONS = manifest.canonical(
    {
        "registered_at": "2026-11-29T00:00:00Z",
        "spec_digest": "a" * 64,
        "plan_digest": "b" * 64,
        "definition_version": "2026.12.5",
        "parameters": [],
        "predictions": [
            {
                "quantity": "decode_step",
                "kind": "time",
                "conditions": {
                    "phase": "decode",
                    "batch": 1,
                    "segment": "load",
                    "input_tokens": 32,
                    "output_tokens": 3,
                    "context_tokens": 33,
                },
                "bound": 0.001,
                "estimate": 0.010,
                "range": [0.008, 0.030],
                "coverage": 0.9,
                "unit": "s",
                "layer": "engine_loop",
                "memory_level": "DRAM",
                "validity": "extrapolated",
                "parameters": [],
                "overturned_by": "a step outside the range",
            }
        ],
        "assumptions": [],
    }
)


def read(tmp_path: Path, session: bytes, predictions: bytes = PREDICTIONS) -> dict[str, Any]:
    interpretable.build(
        tmp_path / "bundle",
        **{layout.SESSION: session, "more": {layout.PREDICTIONS: predictions}},
    )
    path = interpret(tmp_path / "bundle", tmp_path / "derived")
    document: dict[str, Any] = json.loads(path.read_bytes())
    return document


def unused(document: dict[str, Any]) -> list[str]:
    return [g["what"] for g in document["gaps"] if g["what"].startswith("predictions are not used")]


def test_a_registered_prediction_stands_beside_its_measurement(tmp_path: Path) -> None:
    document = read(tmp_path, interpretable.session(predictions=PREDICTIONS))

    row = document["residuals"][0]
    # The load's decode steps took 20 ms each; (20 - 10) / 10 = 1.
    assert (row["quantity"], row["predicted"]) == ("decode_step", 0.010)
    assert row["measured"] == pytest.approx(0.020)
    assert row["relative"] == pytest.approx(1.0)
    assert unused(document) == []


@pytest.mark.req("13.19")
@pytest.mark.forbids
def test_a_prediction_that_was_registered_after_launch_is_not_used(tmp_path: Path) -> None:
    rows = interpretable.session(predictions=PREDICTIONS).splitlines(keepends=True)
    late = b"".join([rows[0], rows[2], rows[1], *rows[3:]])

    document = read(tmp_path, late)

    assert document["residuals"] == []
    assert "after the launch" in unused(document)[0]


@pytest.mark.req("13.19")
@pytest.mark.forbids
def test_a_prediction_that_was_changed_afterwards_is_not_used(tmp_path: Path) -> None:
    changed = PREDICTIONS.replace(b"0.001", b"0.002")

    document = read(tmp_path, interpretable.session(predictions=PREDICTIONS), changed)

    assert document["residuals"] == []
    assert unused(document)


def test_a_prediction_that_nobody_registered_is_not_used(tmp_path: Path) -> None:
    document = read(tmp_path, interpretable.session())

    assert document["residuals"] == []
    assert unused(document)


def test_a_document_that_is_no_prediction_is_named(tmp_path: Path) -> None:
    document = read(tmp_path, interpretable.session(predictions=b"{}"), b"{}")

    assert unused(document) == [
        "predictions are not used: predictions.json lacks parameters, predictions"
    ]
