"""Reports as people get them: downloaded from a page, then opened from the disk with no network at all."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from assay.analysis.report_data import found_data
from tests.e2e.conftest import Open
from tests.e2e.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

# page with the button -> charts that its report has at least
PAGES = {
    "/runs/{run}": 3,
    "/compare?run={run}&run={another}": 6,
    "/runs/{failed}": 0,
}
SCREENS = [(1440, "light"), (1440, "dark"), (390, "light"), (390, "dark")]
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.mark.parametrize("address", PAGES)
def test_a_report_is_read_from_the_disk_with_the_network_off(
    browse: Open, browser: Browser, site: Site, folder: Path, address: str
) -> None:
    window = browse()
    page = window.open(address.format(**site.ids))
    with page.expect_download() as download:
        page.get_by_role("link", name="Report as a file").click()
    file = folder / download.value.suggested_filename
    download.value.save_as(file)

    found = found_data(file.read_text(encoding="utf-8"))
    assert found is not None
    assert found.holds
    for width, scheme in SCREENS:
        _read(browser, file, width, scheme, charts=PAGES[address])


def _read(browser: Browser, file: Path, width: int, scheme: str, *, charts: int) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,  # type: ignore[arg-type]
    )
    context.set_offline(True)
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))

    page.goto(file.as_uri())

    shown = page.locator(".drawing > svg:visible")
    assert shown.count() >= charts
    for chart in shown.all():
        box = chart.bounding_box()
        assert box is not None
        assert box["width"] > 280
        assert box["x"] + box["width"] <= width
    expect(page.locator("table.sources")).to_be_visible()
    root = "document.documentElement"
    assert page.evaluate(f"{root}.scrollWidth - {root}.clientWidth") <= 0, (width, scheme)
    if width == 1440:
        broken = [v["id"] for v in Axe().run(page).response["violations"] if v["impact"] in SERIOUS]
        assert broken == []
    context.close()
    assert said == []
    assert asked == [file.as_uri()]


def test_a_report_prints_what_a_screen_folds(
    browse: Open, browser: Browser, site: Site, folder: Path
) -> None:
    window = browse()
    page = window.open(f"/compare?run={site.ids['run']}&run={site.ids['another']}")
    with page.expect_download() as download:
        page.get_by_role("link", name="Report as a file").click()
    file = folder / "printed.html"
    download.value.save_as(file)
    context = browser.new_context(color_scheme="dark")
    paper = context.new_page()

    paper.goto(file.as_uri())
    paper.emulate_media(media="print")

    same = paper.locator("table.fields").last.get_by_text("workload.requests", exact=True)
    expect(same).to_be_visible()
    assert paper.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    context.close()
