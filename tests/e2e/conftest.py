"""Fixtures of browser tests: one dashboard and one Chromium a session, a fresh profile a test."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.e2e import site as sites
from tests.e2e.site import Site, Watched

Open = Callable[..., Watched]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("home")
    with sites.serving(home, sites.made_up(home)) as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = sites.chromium(playwright)
        yield found
        found.close()


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
