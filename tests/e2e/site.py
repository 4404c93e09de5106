"""A dashboard in processes of its own: a home, gunicorn on a free port, and Chromium to look at it."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect

CHECKOUT = Path(__file__).resolve().parents[2]
CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
START_S = 60


EMBEDDED: Mapping[str, str] = {}  # the variables of an installation that needs none


def environment(home: Path, variables: Mapping[str, str] = EMBEDDED) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ASSAY_", "DJANGO_"))}
    path = os.pathsep.join([str(CHECKOUT / "platform"), str(CHECKOUT)])
    return {**kept, "ASSAY_HOME": str(home), "PYTHONPATH": path, **variables}


def python(
    home: Path, *arguments: str, variables: Mapping[str, str] = EMBEDDED, typed: str = ""
) -> str:
    """The output of a Python process that works in ``home``; it reads what is ``typed``."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment(home, variables),
        cwd=CHECKOUT,
        check=True,
        capture_output=True,
        input=typed,
        text=True,
    )
    return done.stdout


@dataclass(frozen=True)
class Site:
    """A running dashboard. ``ids`` are those of the made-up laboratory."""

    home: Path
    url: str
    ids: dict[str, str] = field(default_factory=dict)
    session: str = ""  # the cookie of whoever sits at this machine, or of a team's administrator
    variables: Mapping[str, str] = field(default_factory=dict)

    def python(self, *arguments: str, typed: str = "") -> str:
        return python(self.home, *arguments, variables=self.variables, typed=typed)

    def demo(self, *arguments: str) -> str:
        return self.python("-m", "tests.assay.pages.demo", *arguments)

    def assay(self, *arguments: str, typed: str = "") -> str:
        return self.python("-m", "assay.cli.main", *arguments, typed=typed)


def by_printed_link(site: Site) -> str:
    """The session of whoever opens what ``assay signin`` prints: a link that works once."""
    port = str(urlsplit(site.url).port)
    return session_after(site.assay("signin", "--port", port).split()[-1])


@contextmanager
def serving(
    home: Path,
    ids: dict[str, str] | None = None,
    *,
    variables: Mapping[str, str] = EMBEDDED,
    signed_in: Callable[[Site], str] = by_printed_link,
) -> Iterator[Site]:
    """gunicorn over the database of ``home``, as ``assay web`` has it; stopped at the end."""
    port = free_port()
    command = [
        sys.executable, "-m", "gunicorn", "assay.wsgi:application",
        "--bind", f"127.0.0.1:{port}", "--workers", "1", "--threads", "4", "--no-control-socket",
    ]  # fmt: skip
    log = home / "gunicorn.log"
    with log.open("wb") as stream:
        server = subprocess.Popen(
            command, env=environment(home, variables), cwd=CHECKOUT, stdout=stream, stderr=stream
        )
    try:
        answers(f"http://127.0.0.1:{port}", server, log)
        site = Site(home=home, url=f"http://127.0.0.1:{port}", ids=ids or {}, variables=variables)
        yield replace(site, session=signed_in(site))
    finally:
        server.terminate()
        server.wait(20)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def session_after(link: str) -> str:
    """The cookie of the session that opening ``link`` begins."""
    jar = CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    opener.open(link, timeout=20).close()
    return next(str(c.value) for c in jar if c.name == "sessionid")


def made_up(home: Path, variables: Mapping[str, str] = EMBEDDED) -> dict[str, str]:
    """Fill the installation of ``home`` with the made-up laboratory; returns its ids."""
    command = ("-m", "tests.assay.pages.demo", "make")
    found: dict[str, str] = json.loads(python(home, *command, variables=variables))
    return found


def chromium(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)


_AFTER_IT = "htmx:afterRequest, [object HTMLDivElement]"


@dataclass
class Watched:
    """A page with what went wrong on it: console errors, script errors, requests to anywhere else.

    ``replaced`` counts the requests that were given up for newer ones, as ``hx-sync`` has it.
    """

    page: Page
    site: Site
    errors: list[str] = field(default_factory=list)
    abroad: list[str] = field(default_factory=list)
    replaced: int = 0

    def heard(self, text: str) -> None:
        """An error on the console. Of a request that is given up htmx tells in two: none of ours."""
        if text.startswith("htmx:sendAbort") and self.errors[-1:] == [_AFTER_IT]:
            self.errors.pop()
            self.replaced += 1
        else:
            self.errors.append(text)

    def open(self, path: str) -> Page:
        self.page.goto(self.site.url + path)
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until every figure is drawn."""
        expect(self.page.locator("[data-figure]:not([data-drawn])")).to_have_count(
            0, timeout=20_000
        )

    def overflow(self) -> int:
        """By how many pixels the page is wider than its window."""
        root = "document.documentElement"
        return int(self.page.evaluate(f"{root}.scrollWidth - {root}.clientWidth"))


def watch(context: BrowserContext, site: Site) -> Watched:
    """A new page of ``context`` under observation, signed in where the site has a session."""
    if site.session:
        context.add_cookies([{"name": "sessionid", "value": site.session, "url": site.url}])
    page = context.new_page()
    watched = Watched(page=page, site=site)

    def heard(message: Any) -> None:
        if message.type == "error":
            watched.heard(message.text)

    def asked(request: Any) -> None:
        if not request.url.startswith((site.url, "data:", "blob:")):
            watched.abroad.append(request.url)

    page.on("console", heard)
    page.on("pageerror", lambda error: watched.errors.append(str(error)))
    page.on("request", asked)
    return watched


def answers(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the dashboard at ``url`` answers; a server that ended is an error with its log."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.2)
    server.kill()
    raise RuntimeError(f"the dashboard did not start:\n{log.read_text(encoding='utf-8')[-2000:]}")
