"""Comparing runs as people do it, in a real Chromium on a real server."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Open
from tests.e2e.databases import ON_BOTH
from tests.e2e.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow, ON_BOTH]


def test_two_runs_are_compared_one_left_out_and_one_added(browse: Open, site: Site) -> None:
    window = browse()
    page = window.open(f"/compare?run={site.ids['run']}&run={site.ids['another']}")

    verdict = page.locator("#verdict strong")
    expect(verdict).to_contain_text("load.concurrency (4 and 2) alone")
    box = verdict.bounding_box()
    assert box is not None
    assert box["y"] < 300

    page.get_by_role("link", name=re.compile("Show the .* that are the same")).click()
    expect(page.get_by_text("workload.requests", exact=True)).to_be_visible()
    page.get_by_role("link", name="Leave out smollm2_concurrency #0").click()
    expect(page.get_by_text("One more run is needed")).to_be_visible()
    page.get_by_role("link", name=re.compile("^smollm2_concurrency #2")).click()
    expect(page.locator("#verdict strong")).to_contain_text("load.concurrency (4 and 1) alone")


def test_the_latency_of_the_distributions_is_chosen(browse: Open, site: Site) -> None:
    window = browse()
    page = window.open(f"/compare?run={site.ids['run']}&run={site.ids['another']}")

    page.get_by_label("Latency of the distributions").get_by_role("link", name="TPOT").click()

    expect(page.locator("#distribution ~ * [aria-current]")).to_have_text("TPOT")
    window.settle()


def test_on_a_phone_every_side_of_a_metric_is_in_sight(browse: Open, site: Site) -> None:
    window = browse(390)
    page = window.open(f"/compare?run={site.ids['run']}&run={site.ids['another']}")

    cells = page.locator("section:has(#metrics) td[data-side]")
    expect(cells.first).to_be_visible()
    for cell in cells.all():
        box = cell.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    assert window.overflow() <= 0
