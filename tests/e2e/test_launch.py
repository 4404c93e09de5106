"""Launching as people do it: choose, look at what it comes to, mend what is refused, queue, cancel."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Open
from tests.e2e.databases import ON_BOTH
from tests.e2e.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow, ON_BOTH]

COMPOSED = 60_000  # ms; a composition on a busy machine
CHECKED = 120_000  # ms; files hashed, tokens counted


def test_a_study_is_chosen_looked_at_mended_queued_and_cancelled(browse: Open, site: Site) -> None:
    page = browse().open("/launch")
    expect(page.get_by_role("heading", name="Nothing is chosen yet")).to_be_visible()

    page.select_option("#study", "smollm2_smoke")
    expect(page.get_by_role("heading", name="Memory budget")).to_be_visible(timeout=COMPOSED)
    expect(page.locator("#at-load-concurrency")).to_contain_text("in effect 2")
    expect(page.locator("#engine-settings")).to_contain_text("Settings of torch")

    page.fill("[name='v.load.concurrency']", "many")
    expect(page.locator("#at-load-concurrency .flag.bad")).to_be_visible(timeout=COMPOSED)
    expect(page.get_by_role("button", name="Queue")).to_be_disabled()
    assert page.evaluate("document.activeElement.name") == "v.load.concurrency"

    page.fill("[name='v.load.concurrency']", "3")
    button = page.get_by_role("button", name="Queue 1 run")
    expect(button).to_be_enabled(timeout=CHECKED)
    expect(page.locator("#at-load-concurrency .flag.bad")).to_have_count(0)
    assert "v.load.concurrency=3" in page.url
    button.click()

    page.wait_for_url(re.compile(r"/studies/[0-9a-f-]{36}$"))
    expect(page.locator("table.data tbody")).to_contain_text("queued")
    page.get_by_role("link", name="Cancel what has not ended").click()
    expect(page.locator("main")).to_contain_text("1 queued run ends at once")
    page.get_by_role("button", name="Cancel 1 run").click()
    expect(page.locator("table.data tbody")).to_contain_text("aborted")


def test_the_form_works_with_the_keyboard_alone(browse: Open, site: Site) -> None:
    page = browse().open("/launch?study=smollm2_smoke")
    field = page.locator("[name='v.load.concurrency']")

    field.focus()
    page.keyboard.type("5")
    page.keyboard.press("Enter")  # shows, never queues

    expect(page.get_by_role("heading", name="Memory budget")).to_be_visible(timeout=CHECKED)
    expect(page).to_have_url(re.compile("/launch"))
    expect(page.locator("#at-load-concurrency")).to_contain_text("in effect 5", timeout=COMPOSED)
    expect(page.get_by_role("button", name="Queue 1 run")).to_be_enabled(timeout=CHECKED)


def test_a_filled_in_form_fits_a_phone(browse: Open, site: Site) -> None:
    window = browse(390, "dark")
    page = window.open("/launch?study=smollm2_smoke&sweep=load.concurrency%3D1,2")

    expect(page.get_by_role("button", name="Queue 2 runs")).to_be_enabled(timeout=CHECKED)

    assert window.overflow() <= 0
