"""The published page and its document say what the code computes now; grants and claims are judged."""

import json

import pytest

from assay.analysis.published.documents import KIND, Comparison
from assay.archive.published import COMPARISON
from benchmarks import published_measurements as page
from benchmarks.published_measurements import comparison, published

PUBLISHED = published()


def test_the_page_is_current() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.page(PUBLISHED, comparison())


def test_the_document_for_programs_is_current_and_complete() -> None:
    stored = json.loads(COMPARISON.read_text(encoding="utf-8"))

    assert stored == json.loads(page.json_text(comparison()))
    assert stored["kind"] == KIND
    assert stored.keys() == Comparison.__required_keys__


def test_grants_follow_from_the_configurations() -> None:
    assert [g["id"] for g in comparison()["granted"]] == ["F1", "F2", "F3", "F4"]
    assert all(abs(g["error"]) < 0.012 for g in comparison()["granted"])


@pytest.mark.req("13.35")
def test_the_published_claim_is_refused_on_one_card_and_contradicted_on_the_other() -> None:
    h100, h200 = comparison()["claims"]

    assert (h100["id"], h100["verdict"]) == ("G.h100", "refused")
    assert "do not fit in 80 GB" in h100["reason"]
    assert (h200["id"], h200["verdict"]) == ("G.h200", "contradicted")
    assert h200["bound_s"] == pytest.approx(28.6e-3, abs=0.05e-3)
    assert h200["tokens_per_s_at_most"] == pytest.approx(34.9, abs=0.05)
