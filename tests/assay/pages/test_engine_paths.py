"""A run's identity page: its start by source, its paths by state, its shapes, what was known before."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.assay.pages.conftest import page
from tests.assay.pages.factory import Laboratory


def text_of(lab: Laboratory, somebody: Client) -> str:
    html = page(somebody, reverse("run-identity", args=[lab.run.pk]))
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def bundle(lab: Laboratory) -> Path:
    return lab.home.bundle(lab.bundle.digest)


def record(lab: Laboratory, *rows: dict[str, Any]) -> None:
    with (bundle(lab) / "engine_events.jsonl").open("a") as events:
        events.writelines(json.dumps({"t_ns": 1} | row) + "\n" for row in rows)


@pytest.mark.req("7.07")
def test_the_start_is_split_by_what_the_engine_timed(lab: Laboratory, somebody: Client) -> None:
    record(
        lab,
        {"event": "start_part", "part": "weights", "duration_s": 8.49, "source": "engine.log:48"},
        {"event": "config", "value": {"load_times": {"warm_up_s": 1.5}}},
    )

    text = text_of(lab, somebody)

    assert "weights weight loading 8.49 s 8.49 s engine.log:48" in text
    assert "warm_up_s warm-up 1.50 s" in text


@pytest.mark.req("7.04", "7.10")
def test_shapes_are_told_by_outcome_and_unread_ones_are_unknown(
    lab: Laboratory, somebody: Client
) -> None:
    assert "the engine counted no shapes" in text_of(lab, somebody)

    row = {"event": "shape_dispatch", "padded": 2, "paddings": 0, "mode": "NONE"}
    record(lab, row | {"tokens": 2, "count": 3}, row | {"tokens": 2, "count": 5})

    assert "eager 100 %" in text_of(lab, somebody).replace("\u2009", " ")


@pytest.mark.req("7.08", "7.10")
def test_a_path_that_the_run_does_not_name_has_no_state(lab: Laboratory, somebody: Client) -> None:
    text = text_of(lab, somebody)

    assert "experts unknown: neither log nor trace of this run names it" in text


@pytest.mark.req("7.21")
def test_switches_read_before_the_run_are_shown_with_those_in_use(
    lab: Laboratory, somebody: Client
) -> None:
    assert "this run was prepared before they were read" in text_of(lab, somebody)
    switch = {
        "names": ["--old"],
        "used": ["--old"],
        "words": "X 1.0, this version states: --old removed.",
    }
    notes = {"records": [{}], "parser": {"spellings": 317}, "switches": [switch]}
    (bundle(lab) / "version_notes.json").write_text(json.dumps(notes))

    text = text_of(lab, somebody)

    assert "1 changed switches known from 1 version records" in text
    assert "takes 317 spellings" in text
    assert "--old : X 1.0, this version states: --old removed." in text
