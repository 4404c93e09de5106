"""Answers that come after a newer click: what was asked for last is shown, and is what the address says."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.conftest import Open
from tests.e2e.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def held_back(page: Page, pattern: str) -> list[Route]:
    """The requests of ``pattern`` from here on; each is answered when the test lets it go on."""
    held: list[Route] = []
    page.route(re.compile(pattern), lambda route: held.append(route))
    return held


def test_a_late_answer_does_not_replace_a_newer_one(browse: Open, site: Site) -> None:
    window = browse()
    page = window.open(f"/runs/{site.ids['run']}/ledgers")
    held = held_back(page, r"show=disagree.*part=table")
    choices = page.get_by_role("navigation", name="Which attempts")
    rows = page.locator("#attempts-region table.tight tbody tr")
    all_of_them = rows.count()

    choices.get_by_role("link", name="client and server disagree").click()
    choices.get_by_role("link").first.click()
    expect(choices.get_by_role("link").first).to_have_attribute("aria-current", "true")
    for route in held:
        route.continue_()
    page.wait_for_timeout(500)

    assert held, "the first was asked for"
    expect(rows).to_have_count(all_of_them)
    assert "show=disagree" not in page.url
    assert window.replaced == 1


def test_a_list_that_renews_itself_does_not_lose_what_was_searched(
    browse: Open, site: Site
) -> None:
    page = browse().open("/runs")
    held = held_back(page, r"/runs\?.*q=study")
    with page.expect_response(re.compile(r"/runs\?part=table$")):
        pass  # the queued run of the laboratory keeps the list renewing itself

    page.fill("#q", "study:smollm2_concurrency")
    page.wait_for_timeout(4_000)  # longer than a renewal takes to come
    assert held, "the search was asked for"
    held[0].continue_()

    expect(page.locator("#runs tbody tr")).to_have_count(3)
    expect(page).to_have_url(re.compile(r"q=study"))
