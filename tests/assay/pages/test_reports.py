"""Reports: the words and refusals of the pages in one file that needs nobody, with data and hash."""

import re
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from assay.analysis.report_data import FoundData, found_data
from tests.assay.pages.conftest import page
from tests.assay.pages.factory import Laboratory
from tests.assay.pages.starts import add_start
from tests.assay.permissions.callers import user
from tests.assay.review.people import submitted


def compared(lab: Laboratory, *more: object) -> str:
    runs = [lab.sweep[0], lab.sweep[1], *more]
    return reverse("compare-report") + "?" + "&".join(f"run={getattr(r, 'pk', r)}" for r in runs)


def data_of(text: str) -> FoundData:
    found = found_data(text)
    assert found is not None
    assert found.holds
    return found


@pytest.fixture
def reports(lab: Laboratory) -> dict[str, str]:
    return {
        "run": reverse("run-report", args=[lab.run.pk]),
        "comparison": compared(lab),
        "review": reverse("review-report", args=[submitted(lab.run).pk]),
        "a run that failed": reverse("run-report", args=[lab.by_state["failed"].pk]),
        "a run that waits": reverse("run-report", args=[lab.by_state["queued"].pk]),
    }


def test_a_report_refers_to_nothing_outside_of_itself(
    reports: dict[str, str], somebody: Client
) -> None:
    for name, url in reports.items():
        text = page(somebody, url)
        ids = re.findall(r'\sid="([^"]+)"', text)

        assert len(ids) == len(set(ids)), name
        assert set(re.findall(r'<a href="#([^"]+)"', text)) <= set(ids), name
        assert not re.search(r'<a href="[^#]|\s(src|srcset|action|style|hx-\w+|on\w+)=', text), name
        assert text.count("<script") == 1, name
        assert "<link" not in text, name
        assert "default-src &#x27;none&#x27;" in text, name
        data_of(text)


def test_a_report_is_a_file_to_keep(lab: Laboratory, somebody: Client) -> None:
    response = somebody.get(compared(lab))

    # The end of the first run's id, and how many there are.
    name = f"assay-comparison-{str(lab.sweep[0].pk)[-6:]}-2.html"
    assert response["Content-Disposition"] == f'attachment; filename="{name}"'


def test_a_comparison_says_what_its_page_says_and_brings_the_other_latencies(
    lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, compared(lab))

    assert "B differs from A in load.concurrency (2 and 4) alone" in text
    assert "one start each: start-to-start spread unknown" in text
    assert "workload.requests" in text  # every field, the same ones too
    assert all(f'id="by-{name}"' in text for name in ("tpot", "e2e"))
    assert (
        text.count('<div class="drawing wide">') >= 6
    )  # ratios, three distributions, three fronts
    document = data_of(text).document
    assert document is not None
    assert document["comparison"]["verdict"] in text
    assert [s["bundle_digest"] for s in document["sources"]] == re.findall(
        r'data-label="Bundle"><code class="whole">(\w{64})', text
    )


@pytest.mark.forbids
@pytest.mark.req("2.02")
def test_a_refused_comparison_is_refused_in_its_report_too(
    lab: Laboratory, somebody: Client
) -> None:
    other = add_start(lab, 2, 1, boundary={"sut": "engine and gateway"})

    text = page(somebody, compared(lab, other))

    assert "Not compared: boundary.sut" in text
    assert "No number is compared" in text
    assert "drawing wide" not in text
    document = data_of(text).document
    assert document is not None
    assert document["comparison"]["metrics"] == []


@pytest.mark.parametrize("query", ["?run=1", "", "?run=" + "a" * 400])
def test_what_the_page_refuses_makes_no_report(
    lab: Laboratory, somebody: Client, query: str
) -> None:
    text = page(somebody, reverse("compare-report") + query, status=400)

    assert "These runs cannot be compared" in text


def test_a_run_brings_its_charts_its_gaps_and_the_rules_of_its_numbers(
    lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, reverse("run-report", args=[lab.run.pk]))

    assert lab.bundle.digest in text
    assert 'id="rule-ttft.first_content.client"' in text
    assert all(f'id="{key}"' in text for key in ("overview", "latency", "residuals", "evidence"))
    assert text.count('<div class="drawing wide">') >= 3  # distribution, ladder, residuals
    assert "Run again" not in text
    document = data_of(text).document
    assert document is not None
    assert "bundle" not in document["runs"][0]
    assert str(lab.home.root) not in text


def test_a_review_brings_its_trail_and_what_its_runs_show(
    lab: Laboratory, somebody: Client
) -> None:
    review = submitted(lab.run)

    text = page(somebody, reverse("review-report", args=[review.pk]))

    assert review.statement in text
    assert "Audit trail" in text
    assert 'id="run-1"' in text
    assert "Approve</button>" not in text
    document = data_of(text).document
    assert document is not None
    assert document["review"]["runs"][0]["bundle_digest"] == lab.bundle.digest


def test_the_same_runs_give_the_same_data_whoever_asks_and_whenever(
    lab: Laboratory, somebody: Client
) -> None:
    first, again = (data_of(page(somebody, compared(lab))) for _ in range(2))

    assert first.computed == again.computed


def test_what_is_not_theirs_is_not_there(lab: Laboratory, reports: dict[str, str]) -> None:
    client = Client()
    client.force_login(user("other team"))

    assert {client.get(url).status_code for url in reports.values()} == {404}
    assert client.get(reverse("run-report", args=[uuid4()])).status_code == 404
