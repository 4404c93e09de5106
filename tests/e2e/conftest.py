"""Fixtures of browser tests: a dashboard a database and one Chromium a session, a fresh profile a test."""

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from xdist.remote import Producer

from tests.e2e import databases, team, visits
from tests.e2e import site as sites
from tests.e2e.sharing import OneParameterOneProcess
from tests.e2e.site import Site, Watched

PATIENCE_MS = 20_000  # a browser, its server and perhaps a worker share two cores
Open = Callable[..., Watched]
Visit = Callable[[str], dict[visits.Screen, visits.Seen]]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneParameterOneProcess:
    return OneParameterOneProcess(config, log)


@pytest.fixture(scope="session")
def embedded_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The made-up laboratory on SQLite, for whoever sits at this machine."""
    home = tmp_path_factory.mktemp("home")
    with sites.serving(home, sites.made_up(home)) as running:
        yield running


@pytest.fixture(scope="session")
def team_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The same on PostgreSQL, for somebody who signed in by password."""
    home = tmp_path_factory.mktemp("team")
    with team.services() as variables:
        ids = sites.made_up(home, variables)
        signed_in = team.by_password
        with sites.serving(home, ids, variables=variables, signed_in=signed_in) as running:
            [(server, runs)] = databases.rows(
                running,
                "SELECT current_setting('server_version_num')::int, count(*) FROM ledger_run",
            )
            assert (server >= 160_000, runs) == (True, 9)  # three of a sweep, six other states
            yield running


@pytest.fixture(scope="session")
def site(request: pytest.FixtureRequest) -> Site:
    """The laboratory on SQLite; a test marked ``ON_BOTH`` sees it on either database."""
    found: Site = request.getfixturevalue(f"{getattr(request, 'param', 'embedded')}_site")
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        found = sites.chromium(playwright)
        yield found
        found.close()


@pytest.fixture(scope="session")
def visited(browser: Browser, embedded_site: Site) -> Iterator[Visit]:
    """What was seen at an address of the laboratory on SQLite; each is visited once."""
    with closing(visits.Visitors(browser, embedded_site)) as visitors:
        yield cache(visitors.visit)


@pytest.fixture
def browse(browser: Browser, site: Site) -> Iterator[Open]:
    """Opens a window of a width and colour scheme; at the end nothing may have gone wrong in any."""
    watched: list[Watched] = []

    def begin(width: int = 1440, scheme: str = "light", **more: Any) -> Watched:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,  # type: ignore[arg-type]
            **more,
        )
        watched.append(sites.watch(context, site))
        return watched[-1]

    yield begin
    for window in watched:
        window.page.context.close()
    assert [w.errors for w in watched if w.errors] == []
    assert [w.abroad for w in watched if w.abroad] == []
