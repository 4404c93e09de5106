"""The flows with the keyboard alone: nothing is clicked and nothing is focused but by Tab and arrow keys."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import Open
from tests.e2e.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
MOST_TABS = 250


def reach(page: Page, wanted: Locator) -> None:
    """Tab until ``wanted`` has the focus; it must be seen to have it."""
    expect(wanted).to_have_count(1)
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if wanted.evaluate("(e) => e === document.activeElement"):
            style = "(e) => [getComputedStyle(e).outlineStyle, getComputedStyle(e).boxShadow]"
            assert wanted.evaluate(style) != ["none", "none"], "the focus is not shown"
            return
    raise AssertionError(f"{wanted} was not reached by {MOST_TABS} times Tab")


def link(page: Page, name: str | re.Pattern[str]) -> Locator:
    return page.get_by_role("link", name=name, exact=isinstance(name, str))


def test_runs_are_found_chosen_and_compared(browse: Open, site: Site) -> None:
    page = browse().open("/")

    reach(page, link(page, "Runs"))
    page.keyboard.press("Enter")
    reach(page, page.locator("#q"))
    page.keyboard.type("study:smollm2_concurrency")
    expect(page.locator("#runs tbody tr")).to_have_count(3)
    for position in (0, 1):
        reach(page, page.get_by_label(f"Choose smollm2_concurrency #{position}"))
        page.keyboard.press("Space")
    reach(page, page.get_by_role("button", name="Compare"))
    page.keyboard.press("Enter")

    expect(page.locator("#verdict strong")).to_contain_text("load.concurrency")


def test_a_ledger_is_read_down_to_one_request_and_exported(browse: Open, site: Site) -> None:
    page = browse().open(f"/runs/{site.ids['run']}")

    reach(page, link(page, "Ledgers"))
    page.keyboard.press("Enter")
    reach(page, link(page, re.compile("^client and server disagree")))
    page.keyboard.press("Enter")
    rows = page.locator("#attempts-region table.tight tbody tr")
    expect(rows).to_have_count(2)
    reach(page, page.locator("#attempts-region > .table-foot").get_by_role("link", name="CSV"))
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    page.reload()
    reach(page, rows.first)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")

    lines = download.value.path().read_text(encoding="utf-8").splitlines()
    assert [line.partition(",")[0] for line in lines[1:]] == ["load-0006.A1", "load-0011.A1"]
    page.wait_for_url(re.compile(r"/attempts/load-0011\.A1$"))


def test_a_run_is_submitted_for_review(browse: Open, site: Site) -> None:
    page = browse().open(f"/reviews/new?run={site.ids['another']}")

    reach(page, page.get_by_label("Title"))
    page.keyboard.type("Two at a time")
    reach(page, page.get_by_label("What is claimed"))
    page.keyboard.type("TPOT p50 per request, completed attempts.")
    reach(page, page.get_by_role("button", name="Submit for review"))
    page.keyboard.press("Enter")

    expect(page.locator(".title-line .state")).to_have_text("open")
