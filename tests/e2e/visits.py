"""A page at both widths and in both schemes: loaded on a light desktop and on a dark phone; then both switch.

The desktop comes with an empty cache, for the weight of the page; the phone keeps its own from page to page.
A visit takes the time, and several tests ask about every page: they share one.
"""

import gzip
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Request

from tests.e2e import site as sites
from tests.e2e.site import Site, Watched

Screen = tuple[int, str]
DESKTOP: Screen = (1440, "light")
PHONE: Screen = (390, "dark")
LOADED = (DESKTOP, PHONE)  # where axe is asked too
OTHER_SCHEME: dict[str, Literal["light", "dark"]] = {"light": "dark", "dark": "light"}
REPAINTED = "() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))"

# Text colour against what lies behind it; WCAG 2.2 AA asks for 4.5, and for 3 from 24 px (or bold 18.66 px).
CONTRAST = """
() => {
  const parse = (c) => { const m = c.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const linear = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour[3] > 0.9) return colour;
    }
    return [255, 255, 255, 1];
  };
  const unseen = "script, style, svg, noscript, .skip, details:not([open])";
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode.textContent.trim();
    const e = walk.currentNode.parentElement;
    if (!text || e.closest(unseen) || !e.checkVisibility()) continue;
    const style = getComputedStyle(e);
    const size = parseFloat(style.fontSize);
    const [a, b] = [light(parse(style.color)), light(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const need = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
    if (ratio < need) found.push(`${ratio.toFixed(2)} ${e.className} ${text.slice(0, 40)}`);
  }
  return found;
}
"""
NAMELESS = """() => [...document.querySelectorAll("a, button, input:not([type=hidden]), select")]
    .filter((e) => !(e.textContent.trim() || e.ariaLabel || e.labels?.length || e.title))
    .map((e) => e.outerHTML.slice(0, 120))"""
DOUBLED = """() => { const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
    return ids.filter((id, i) => ids.indexOf(id) !== i); }"""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One visit. ``sizes`` are bytes over the wire by URL, ``html`` those of the page packed."""

    overflow: int
    faint: list[str]
    nameless: list[str]
    doubled: list[str]
    headings: int
    html: int
    sizes: dict[str, int] | None  # none but on the desktop as it was loaded
    errors: list[str]
    abroad: list[str]
    violations: list[dict[str, Any]] | None  # none where axe was not asked


@dataclass(frozen=True)
class Visitors:
    """Who looks at the pages of ``site``; the phone's profile is the same for all pages."""

    browser: Browser
    site: Site
    kept: list[BrowserContext] = field(default_factory=list)

    def visit(self, address: str) -> dict[Screen, Seen]:
        with closing(self._profile(DESKTOP)) as desktop:
            seen = _both_schemes(sites.watch(desktop, self.site), address, DESKTOP)
        if not self.kept:
            self.kept.append(self._profile(PHONE))
        window = sites.watch(self.kept[0], self.site)
        with closing(window.page):
            return seen | _both_schemes(window, address, PHONE)

    def close(self) -> None:
        for profile in self.kept:
            profile.close()

    def _profile(self, screen: Screen) -> BrowserContext:
        width, scheme = screen
        return self.browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,  # type: ignore[arg-type]
        )


def _both_schemes(window: Watched, address: str, screen: Screen) -> dict[Screen, Seen]:
    width, scheme = screen
    sizes = _open_until_idle(window, address) if screen == DESKTOP else None
    if sizes is None:
        window.open(address)
    loaded = _look(window, sizes=sizes, violations=Axe().run(window.page).response["violations"])
    switched = OTHER_SCHEME[scheme]
    window.page.emulate_media(color_scheme=switched)
    window.page.evaluate(REPAINTED)
    return {screen: loaded, (width, switched): _look(window)}


def _look(
    window: Watched,
    *,
    sizes: dict[str, int] | None = None,
    violations: list[dict[str, Any]] | None = None,
) -> Seen:
    page = window.page
    return Seen(
        overflow=window.overflow(),
        faint=page.evaluate(CONTRAST),
        nameless=page.evaluate(NAMELESS),
        doubled=page.evaluate(DOUBLED),
        headings=page.locator("h1").count(),
        html=len(gzip.compress(page.content().encode())),
        violations=violations,
        sizes=sizes,
        errors=list(window.errors),
        abroad=list(window.abroad),
    )


def _open_until_idle(window: Watched, address: str) -> dict[str, int]:
    """Opens the page; the bytes of each answer, with those that come after the page itself."""
    sizes: dict[str, int] = {}

    def arrived(request: Request) -> None:
        sizes[request.url] = request.sizes()["responseBodySize"]

    window.page.on("requestfinished", arrived)
    page = window.open(address)
    page.wait_for_load_state("networkidle")
    page.remove_listener("requestfinished", arrived)
    return sizes
