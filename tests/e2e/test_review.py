"""A review as people go through it, each in a browser of their own, with the keyboard where it matters."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Open
from tests.e2e.databases import ON_BOTH, rows
from tests.e2e.reviewing import SIGNED_BY, accept_every_gap, answer_every_question
from tests.e2e.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow, ON_BOTH]

As = Callable[[str], Page]


@pytest.fixture
def as_person(browse: Open, site: Site) -> As:
    """A page of somebody of the team: ada made the runs, ben and eve may review."""
    sessions = json.loads(site.python("-m", "tests.e2e.people"))

    def page_of(name: str) -> Page:
        window = browse()
        window.page.context.add_cookies(
            [{"name": "sessionid", "value": sessions[name], "url": site.url}]
        )
        return window.page

    return page_of


def test_from_a_runs_page_to_a_sign_off_by_another_person(as_person: As, site: Site) -> None:
    ada, ben, eve = as_person("ada"), as_person("ben"), as_person("eve")
    ada.goto(f"{site.url}/runs/{site.ids['run']}")
    ada.get_by_role("link", name="Submit for review").click()
    ada.get_by_label("Title").fill("SmolLM2 at four at a time")
    ada.get_by_label("What is claimed").fill("TTFT p50 is 142 ms, per request, completed attempts.")
    ada.get_by_label("ben").check()
    ada.get_by_label("eve").check()
    ada.keyboard.press("Tab")
    ada.get_by_role("button", name="Submit for review").press("Enter")
    expect(ada.locator(".title-line .state")).to_have_text("open")
    address = ada.url.partition("#")[0]

    ben.goto(f"{site.url}/runs/{site.ids['run']}/evidence")
    ben.get_by_role("link", name="discuss: gap: server record of load-0022.A1").click()
    ben.get_by_label("A new thread about this place").fill("Does one attempt weaken it?")
    ben.get_by_role("button", name="Start thread").click()
    ben.goto(f"{site.url}/reviews")
    ben.get_by_role("link", name="SmolLM2 at four at a time").click()
    ben.get_by_label("A new thread about the statement").fill("At which level?")
    ben.get_by_role("button", name="Start thread").click()
    ben.get_by_label("Your verdict, in words").fill("Say the level.")
    ben.get_by_role("button", name="Request changes").press("Enter")
    expect(ben.locator(".title-line .state")).to_have_text("changes_requested")

    ada.goto(address)
    ada.get_by_label("What became of the requested changes").fill("E1, by the client's clock.")
    ada.get_by_role("button", name="Answer the request").click()
    expect(ada.locator(".title-line .state")).to_have_text("open")
    answer_every_question(ada)

    ben.goto(address)
    expect(ben.locator("#against-approve")).to_contain_text("server record of load-0022.A1")
    accept_every_gap(ben)
    ben.get_by_label("Your verdict, in words").fill("It holds.")
    ben.get_by_role("button", name="Approve", exact=True).click()
    expect(ben.locator(".title-line .state")).to_have_text("approved")

    ada.goto(address)
    expect(ada.get_by_role("button", name="Sign off", exact=True)).to_have_count(0)
    eve.goto(address)
    eve.get_by_label("Sign off: what may be done").fill("May be quoted with its level.")
    eve.get_by_role("button", name="Sign off", exact=True).press("Enter")
    expect(eve.locator(".title-line .state")).to_have_text("signed_off")
    expect(eve.locator(".signed")).to_contain_text("eve signed this off")
    eve.goto(f"{site.url}/runs/{site.ids['run']}")
    expect(eve.locator(".review-chip")).to_contain_text("signed_off")
    assert rows(site, SIGNED_BY) == [("eve",)]
