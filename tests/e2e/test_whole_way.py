"""The whole way of a study on real installations: launched, watched, read, compared, reviewed, exported.

Nothing is made up: the dashboard, the worker and the scheduler run as people start them, embedded by one verb
and in a team by one verb each on PostgreSQL and Redis, and the runs are two starts of the torch engine.
"""

import csv
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e import site as sites
from tests.e2e import team
from tests.e2e.databases import STACKS, rows
from tests.e2e.reviewing import SIGNED_BY, accept_every_gap, answer_every_question
from tests.e2e.site import Site
from tests.stacks import Stack

pytestmark = [pytest.mark.e2e, pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(900)]

COMPOSED_MS, SEALED_MS = 120_000, 420_000
ATTEMPTS = 8  # of one run of smollm2_smoke: four cases, four requests of the load
PEOPLE = {"ada": "author", "ben": "reviewer", "eve": "reviewer"}


@contextmanager
def embedded(folder: Path) -> Iterator[Site]:
    """``assay up``, whose printed link signs in whoever sits at this machine."""
    stack = Stack(home=folder / "home", variables={})
    port = sites.free_port()
    with running(stack, port, ("up", "--port", str(port))) as site:
        found = re.search(r"http://\S+/login/link/\S+", printed(stack, "up").read_text("utf-8"))
        assert found is not None, stack.logs()
        yield replace(site, session=sites.session_after(found[0]))


@contextmanager
def of_a_team(folder: Path) -> Iterator[Site]:
    """Dashboard, worker and scheduler apart; everybody signs in by password."""
    with team.services() as variables:
        stack = Stack(home=folder / "home", variables=dict(variables))
        port = sites.free_port()
        with running(stack, port, ("web", "--port", str(port)), ("worker",), ("beat",)) as site:
            yield site


@contextmanager
def running(stack: Stack, port: int, *verbs: tuple[str, ...]) -> Iterator[Site]:
    """The verbs, of which the first serves the dashboard, over an empty database with people in it."""
    site = Site(home=stack.home, url=f"http://127.0.0.1:{port}", variables=stack.variables)
    done = stack.assay("migrate")
    assert done.returncode == 0, done.stderr
    for name, role in PEOPLE.items():
        site.assay("account", "add", name, typed=f"{team.PASSWORD}\n")
        site.assay("team", "join", "main", name, "--role", role)
    try:
        first, *_ = [stack.start(*verb) for verb in verbs]
        sites.answers(site.url, first, printed(stack, verbs[0][0]))
        yield site
    finally:
        stack.stop()


def printed(stack: Stack, verb: str) -> Path:
    return stack.home.parent / f"{verb}-0.log"


@pytest.fixture(params=STACKS)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """An installation of its own with people in it; the laboratory of the other tests is not touched."""
    begin = {"embedded": embedded, "team": of_a_team}[request.param]
    with begin(tmp_path) as found:
        yield found


@pytest.fixture
def sign_in(browser: Browser, site: Site) -> Iterator[Callable[[str], Page]]:
    """A browser of somebody's own, signed in through the form; nothing may go wrong in any."""
    windows: list[sites.Watched] = []

    def begin(name: str) -> Page:
        windows.append(window(browser, site))
        page = windows[-1].open("/login/")
        page.get_by_label("Name").fill(name)
        page.get_by_label("Password").fill(team.PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url(f"{site.url}/")
        return page

    yield begin
    for one in windows:
        one.page.context.close()
    assert [one.errors for one in windows if one.errors] == []
    assert [one.abroad for one in windows if one.abroad] == []


def window(browser: Browser, site: Site) -> sites.Watched:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    return sites.watch(context, site)


def test_a_study_goes_the_whole_way(
    browser: Browser, site: Site, sign_in: Callable[[str], Page]
) -> None:
    launcher = window(browser, site)
    ada = launcher.open("/") if site.session else sign_in("ada")
    launch(ada, site)
    run = watch_to_the_end(ada, site)
    exported = read_a_ledger(ada, run)
    compare(ada, site)
    submit(ada, run)
    review_page = ada.url.partition("#")[0]
    answer_every_question(ada)
    approve(sign_in("ben"), review_page)
    sign_off(sign_in("eve"), review_page)

    assert [row["client"] for row in exported].count("cancelled") == 1, "the cancelled case"
    assert rows(site, "SELECT count(*) FROM ledger_run WHERE state = 'sealed'") == [(2,)]
    assert rows(site, SIGNED_BY) == [("eve",)]
    launcher.page.context.close()
    assert (launcher.errors, launcher.abroad) == ([], [])


def launch(page: Page, site: Site) -> None:
    """Two runs are queued from the form, which leads to their study."""
    page.goto(f"{site.url}/launch")
    page.select_option("#study", "smollm2_smoke")
    page.get_by_label("Sweep, one variable a line").fill("load.concurrency=1,2")
    page.get_by_label("Further overrides, as on the command line").fill("prediction.enabled=false")
    button = page.get_by_role("button", name="Queue 2 runs")
    expect(button).to_be_enabled(timeout=COMPOSED_MS)
    button.click()
    page.wait_for_url(re.compile(r"/studies/[0-9a-f-]{36}$"))


def watch_to_the_end(page: Page, site: Site) -> str:
    """The page of a run and the list follow by themselves; returns the address of the run."""
    page.get_by_role("link", name="#1", exact=True).click()
    run = page.url
    expect(page.locator("#progress")).to_be_visible()
    expect(page.locator("#progress")).to_have_count(0, timeout=SEALED_MS)
    expect(page.locator(".run-head .state")).to_have_text("sealed")
    page.goto(f"{site.url}/runs?q=study:smollm2_smoke")
    states = page.locator("#runs tbody .life .state")
    expect(states).to_have_text(["sealed", "sealed"], timeout=SEALED_MS)
    return run


def read_a_ledger(page: Page, run: str) -> list[dict[str, str]]:
    """From the table of attempts to one of them, and the table as a file."""
    page.goto(f"{run}/ledgers")
    attempts = page.locator("#attempts-region table.tight tbody tr")
    expect(attempts).to_have_count(ATTEMPTS)
    with page.expect_download() as download:
        page.locator("#attempts-region > .table-foot").get_by_role("link", name="CSV").click()
    with download.value.path().open(encoding="utf-8", newline="") as file:
        exported = list(csv.DictReader(file))
    assert len(exported) == ATTEMPTS
    attempts.first.get_by_role("link").first.click()
    expect(page.get_by_role("heading", name=exported[0]["attempt_id"])).to_be_visible()
    return exported


def compare(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/runs?q=study:smollm2_smoke")
    for position in (0, 1):
        page.get_by_label(f"Choose smollm2_smoke #{position}").check()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url(re.compile("/compare"))
    expect(page.locator("#verdict strong")).to_contain_text("load.concurrency")


def submit(page: Page, run: str) -> None:
    page.goto(run)
    page.get_by_role("link", name="Submit for review").click()
    page.get_by_label("Title").fill("SmolLM2, one and two at a time")
    page.get_by_label("What is claimed").fill(
        "Eight attempts of which one was cancelled, as asked."
    )
    page.get_by_label("ben").check()
    page.get_by_label("eve").check()
    page.get_by_role("button", name="Submit for review").click()
    expect(page.locator(".title-line .state")).to_have_text("open")


def approve(page: Page, address: str) -> None:
    page.goto(address)
    accept_every_gap(page)
    page.get_by_label("Your verdict, in words").fill("It holds.")
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.locator(".title-line .state")).to_have_text("approved")


def sign_off(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_label("Sign off: what may be done").fill("May be quoted with its level.")
    page.get_by_role("button", name="Sign off", exact=True).click()
    expect(page.locator(".title-line .state")).to_have_text("signed_off")
