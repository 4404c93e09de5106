"""A dashboard in processes of its own: a home, gunicorn on a free port, and Chromium to look at it."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

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


def environment(home: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ASSAY_", "DJANGO_"))}
    path = os.pathsep.join([str(CHECKOUT / "platform"), str(CHECKOUT)])
    return {**kept, "ASSAY_HOME": str(home), "PYTHONPATH": path}


def python(home: Path, *arguments: str) -> str:
    """The output of a Python process that works in ``home``."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment(home),
        cwd=CHECKOUT,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


@dataclass(frozen=True)
class Site:
    """A running dashboard. ``ids`` are those of the made-up laboratory."""

    home: Path
    url: str
    ids: dict[str, str] = field(default_factory=dict)
    session: str = ""  # the cookie of whoever sits at this machine

    def demo(self, *arguments: str) -> str:
        return python(self.home, "-m", "tests.assay.pages.demo", *arguments)


@contextmanager
def serving(home: Path, ids: dict[str, str] | None = None) -> Iterator[Site]:
    """gunicorn over the database in ``home``, as ``assay web`` has it; stopped at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable, "-m", "gunicorn", "assay.wsgi:application",
        "--bind", f"127.0.0.1:{port}", "--workers", "1", "--threads", "4", "--no-control-socket",
    ]  # fmt: skip
    log = home / "gunicorn.log"
    with log.open("wb") as stream:
        server = subprocess.Popen(
            command, env=environment(home), cwd=CHECKOUT, stdout=stream, stderr=stream
        )
    try:
        _await(f"http://127.0.0.1:{port}/healthz", server, log)
        url = f"http://127.0.0.1:{port}"
        yield Site(home=home, url=url, ids=ids or {}, session=_signed_in(printed_link(home, port)))
    finally:
        server.terminate()
        server.wait(20)


def printed_link(home: Path, port: int) -> str:
    """What ``assay signin`` prints: a link that works once."""
    said = python(home, "-m", "assay.cli.main", "signin", "--port", str(port))
    return said.split()[-1]


def _signed_in(link: str) -> str:
    jar = CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    opener.open(link, timeout=20).close()
    return next(str(c.value) for c in jar if c.name == "sessionid")


def made_up(home: Path) -> dict[str, str]:
    """Fill ``home`` with the made-up laboratory; returns its ids."""
    found: dict[str, str] = json.loads(python(home, "-m", "tests.assay.pages.demo", "make"))
    return found


def chromium(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)


@dataclass
class Watched:
    """A page with what went wrong on it: console errors, script errors, requests to anywhere else."""

    page: Page
    site: Site
    errors: list[str] = field(default_factory=list)
    abroad: list[str] = field(default_factory=list)

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
    context.add_cookies([{"name": "sessionid", "value": site.session, "url": site.url}])
    page = context.new_page()
    watched = Watched(page=page, site=site)

    def heard(message: Any) -> None:
        if message.type == "error":
            watched.errors.append(message.text)

    def asked(request: Any) -> None:
        if not request.url.startswith((site.url, "data:", "blob:")):
            watched.abroad.append(request.url)

    page.on("console", heard)
    page.on("pageerror", lambda error: watched.errors.append(str(error)))
    page.on("request", asked)
    return watched


def _await(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.2)
    server.kill()
    raise RuntimeError(f"the dashboard did not start:\n{log.read_text(encoding='utf-8')[-2000:]}")
