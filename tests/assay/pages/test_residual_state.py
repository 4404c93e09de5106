"""The state of a run in three columns, on its page of residuals."""

import json

from django.test import Client
from django.urls import reverse

from assay.analysis.residual.state_columns import StateColumns
from tests.assay.pages.conftest import page
from tests.assay.pages.factory import Laboratory

HELD = StateColumns(
    what="kv_at_busiest_step",
    tokens=284,
    logical_bytes=284 * 46_080,
    layout_bytes=320 * 46_080,
    measured_bytes=None,
    differences=["block rounding: 36 of 320 slots in the last blocks of 4 sequences are empty"],
)


def test_each_column_stands_by_itself_and_an_empty_one_says_why(
    lab: Laboratory, somebody: Client
) -> None:
    (path,) = (lab.home.derived / lab.bundle.digest).rglob("interpretation.json")
    document = json.loads(path.read_bytes())
    path.write_text(json.dumps({**document, "state_columns": [HELD]}), encoding="utf-8")

    text = page(somebody, reverse("run-residuals", args=[lab.run.pk]))

    assert "kv_at_busiest_step" in text
    assert "block rounding: 36 of 320 slots" in text
    assert "no allocation recorded" in text


def test_a_reading_of_an_older_version_has_no_such_section(
    lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, reverse("run-residuals", args=[lab.run.pk]))

    assert 'id="state"' not in text
