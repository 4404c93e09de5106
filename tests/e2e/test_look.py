"""Every page in a real Chromium: no error, no request elsewhere, no overflow, contrast, and light weight."""

import pytest

from tests.e2e.conftest import Open, Visit
from tests.e2e.site import Site
from tests.e2e.visits import DESKTOP

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


def path(name: str, site: Site) -> str:
    return PAGES[name].format(**site.ids)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_and_reads_at_both_widths_and_in_both_schemes(
    name: str, visited: Visit, site: Site
) -> None:
    for screen, seen in visited(path(name, site)).items():
        assert seen.overflow <= 0, screen
        assert seen.faint == [], screen


@pytest.mark.parametrize("name", PAGES)
def test_a_page_raises_no_error_and_asks_nobody_else(name: str, visited: Visit, site: Site) -> None:
    for screen, seen in visited(path(name, site)).items():
        assert seen.errors == [], screen
        assert seen.abroad == [], screen


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_light(name: str, visited: Visit, site: Site) -> None:
    seen = visited(path(name, site))[DESKTOP]

    assert seen.sizes
    own = {url: size for url, size in seen.sizes.items() if "plotly" not in url}
    assert sum(own.values()) < PAGE_BYTES, own
    assert seen.html < 60_000


@pytest.mark.parametrize("name", PAGES)
def test_every_control_is_named_and_ids_are_single(name: str, visited: Visit, site: Site) -> None:
    for screen, seen in visited(path(name, site)).items():
        assert seen.nameless == [], screen
        assert seen.doubled == [], screen
        assert seen.headings == 1, screen


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
