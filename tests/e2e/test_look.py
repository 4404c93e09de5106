"""Every page in a real Chromium: no error, no request elsewhere, no overflow, contrast, and light weight."""

import gzip

import pytest

from tests.e2e.conftest import Open
from tests.e2e.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PAGES = {
    "home": "/",
    "runs": "/runs",
    "runs searched": "/runs?q=tag:smoke+colour:red&columns=ttft.p50,ttft.p99,goodput",
    "saved views": "/views",
    "overview": "/runs/{run}",
    "identity": "/runs/{run}/identity",
    "timeline": "/runs/{run}/timeline",
    "ledgers": "/runs/{run}/ledgers",
    "ledgers at an instant": "/runs/{run}/ledgers?at=9.5",
    "timeline, closer": "/runs/{run}/timeline?domain=0&from=8&to=10",
    "latency": "/runs/{run}/latency",
    "residuals": "/runs/{run}/residuals",
    "diagnosis": "/runs/{run}/diagnosis",
    "evidence": "/runs/{run}/evidence",
    "files": "/runs/{run}/files",
    "log": "/runs/{run}/log",
    "attempt": "/runs/{run}/attempts/load-0006.A1",
    "hostile attempt": "/runs/{run}/attempts/cases-0002.A1",
    "declaration": "/runs/{run}/declaration",
    "queued": "/runs/{queued}",
    "lost": "/runs/{lost}",
    "refused": "/runs/{refused}",
    "compare": "/compare?run={run}&run={another}&fields=all&metrics=all",
    "compare nothing yet": "/compare",
    "studies": "/studies",
    "study": "/studies/{study}",
    "artifacts": "/artifacts",
    "artifact": "/artifacts/{artifact}",
    "models": "/models",
    "model": "/models/deepseek-ai__DeepSeek-V3.2?device=H200-SXM&batch=16&tp=8",
    "fits": "/models/fits?context=8192&batch=4",
    "engines": "/engines",
    "engine": "/engines/vllm",
    "engine versions": "/engines/sglang/0.5.22..0.5.23",
    "rules": "/rules",
    "launch": "/launch",
    "launch, refused": "/launch?study=smollm2_smoke&v.load.concurrency=many",
    "cancel": "/runs/{queued}/cancel",
    "run again": "/runs/{run}/repeat",
    "cancel a study": "/studies/{study}/cancel",
    "notifications": "/account/notifications",
    "sign in": "/login/",
}
PAGE_BYTES = 200_000  # all that a page loads, as it comes over the wire, the chart library apart

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


def path(name: str, site: Site) -> str:
    return PAGES[name].format(**site.ids)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_and_reads_at_both_widths_and_in_both_schemes(
    name: str, browse: Open, site: Site
) -> None:
    for width in (1440, 390):
        for scheme in ("light", "dark"):
            window = browse(width, scheme)

            page = window.open(path(name, site))

            assert window.overflow() <= 0, (width, scheme)
            assert page.evaluate(CONTRAST) == [], (width, scheme)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_light(name: str, browse: Open, site: Site) -> None:
    window = browse()
    sizes: dict[str, int] = {}
    window.page.on(
        "requestfinished",
        lambda request: sizes.update({request.url: request.sizes()["responseBodySize"]}),
    )

    page = window.open(path(name, site))
    page.wait_for_load_state("networkidle")

    own = {url: size for url, size in sizes.items() if "plotly" not in url}
    html = len(gzip.compress(page.content().encode()))
    assert sum(own.values()) < PAGE_BYTES, own
    assert html < 60_000


@pytest.mark.parametrize("name", PAGES)
def test_every_control_is_named_and_ids_are_single(name: str, browse: Open, site: Site) -> None:
    page = browse().open(path(name, site))

    nameless = page.evaluate(
        """() => [...document.querySelectorAll("a, button, input:not([type=hidden]), select")]
        .filter((e) => !(e.textContent.trim() || e.ariaLabel || e.labels?.length || e.title))
        .map((e) => e.outerHTML.slice(0, 120))"""
    )
    doubled = page.evaluate(
        """() => { const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
        return ids.filter((id, i) => ids.indexOf(id) !== i); }"""
    )
    assert nameless == []
    assert doubled == []
    assert page.locator("h1").count() == 1


def test_nothing_moves_while_a_chart_loads(browse: Open, site: Site) -> None:
    window = browse()
    window.page.add_init_script(
        """window.shift = 0; new PerformanceObserver((list) => {
        for (const e of list.getEntries()) if (!e.hadRecentInput) window.shift += e.value;
        }).observe({ type: "layout-shift", buffered: true });"""
    )

    page = window.open(path("timeline", site))
    page.wait_for_timeout(300)

    assert page.evaluate("window.shift") < 0.02
