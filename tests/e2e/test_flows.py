"""What people do on the pages, in a real Chromium on a real server."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Open
from tests.e2e.databases import ON_BOTH
from tests.e2e.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@ON_BOTH
def test_runs_are_filtered_without_loading_the_page_anew(browse: Open, site: Site) -> None:
    window = browse()
    page = window.open("/runs")
    page.evaluate("window.sameDocument = true")
    before = page.locator("#runs tbody tr").count()

    page.select_option("select[data-term=state]", "failed")

    expect(page.locator("#runs tbody tr")).to_have_count(1)
    assert page.evaluate("window.sameDocument")
    expect(page.locator("#q")).to_have_value("state:failed")
    assert page.url.endswith("/runs?q=state%3Afailed")
    page.go_back()
    expect(page.locator("#runs tbody tr")).to_have_count(before)


@ON_BOTH
def test_typing_filters_by_text(browse: Open, site: Site) -> None:
    page = browse().open("/runs")

    page.fill("#q", "concurrency")

    expect(page.locator("#runs tbody tr")).to_have_count(3)


def test_a_word_that_is_not_understood_is_named_while_the_rest_filters(
    browse: Open, site: Site
) -> None:
    page = browse().open("/runs")
    page.fill("#q", "study:smollm2_concurrency colour:red")

    expect(page.get_by_role("alert")).to_contain_text("no field colour")
    expect(page.locator("#runs tbody tr")).to_have_count(3)
    page.fill("#q", "state:sealed colour:red")
    expect(page.locator("select[data-term=state]")).to_have_value("sealed")


@ON_BOTH
def test_a_search_with_its_numbers_is_kept_and_opened_again(browse: Open, site: Site) -> None:
    page = browse().open("/runs")
    page.fill("#q", "tag:smoke")
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("Goodput").check()
    expect(page.locator("#runs thead")).to_contain_text("Goodput")

    page.get_by_label("Keep this search as").fill("the sweep")
    page.get_by_role("button", name="Save view").click()

    expect(page.get_by_role("link", name="the sweep")).to_have_attribute("aria-current", "true")
    page.goto(site.url + "/runs")
    page.get_by_role("link", name="the sweep").click()
    expect(page.locator("#q")).to_have_value("tag:smoke")
    expect(page.locator("#runs thead")).to_contain_text("Goodput")
    page.goto(site.url + "/views")
    page.get_by_role("button", name="Delete the view the sweep").click()
    expect(page.get_by_text("No view yet")).to_be_visible()


@ON_BOTH
def test_runs_that_were_chosen_stay_chosen_and_are_compared(browse: Open, site: Site) -> None:
    page = browse().open("/runs")
    compare = page.get_by_role("button", name="Compare")
    page.get_by_label("Choose smollm2_concurrency #0").check()
    expect(compare).to_be_disabled()
    page.fill("#q", "study:smollm2_concurrency")  # the table is replaced
    expect(page.locator("#runs tbody tr")).to_have_count(3)

    expect(page.get_by_label("Choose smollm2_concurrency #0")).to_be_checked()
    page.get_by_label("Choose smollm2_concurrency #1").check()
    compare.click()

    page.wait_for_url(re.compile(r"/compare\?run=[0-9a-f-]+&run=[0-9a-f-]+$"))


@ON_BOTH
def test_the_first_page_follows_what_goes(browse: Open, site: Site) -> None:
    page = browse().open("/")

    for name in ("Now", "Ended lately", "What weakens them"):
        expect(page.get_by_role("heading", name=name)).to_be_visible()
    page.get_by_role("link", name="smollm2_torch #0").click()
    page.wait_for_url(re.compile("/runs/"))


def test_the_first_screen_of_a_run_holds_its_three_answers(browse: Open, site: Site) -> None:
    window = browse()
    page = window.open("/runs")

    page.get_by_role("link", name="smollm2_concurrency #1").click()

    for name in ("What was run", "What came out", "What limits it"):
        heading = page.get_by_role("heading", name=name)
        expect(heading).to_be_visible()
        box = heading.bounding_box()
        assert box is not None
        assert box["y"] < 900


def test_an_evidence_chip_opens_the_very_line_and_closes_it_again(browse: Open, site: Site) -> None:
    window = browse()
    page = window.open(f"/runs/{site.ids['run']}/identity")
    chip = page.locator("#item-launch_configuration a.chip")

    chip.click()

    line = page.locator("#quote-launch_configuration li.this")
    expect(line).to_contain_text("config max_batch=8 token_budget=256")
    expect(chip).to_have_attribute("aria-expanded", "true")
    assert window.overflow() <= 0  # the line is long; it scrolls in its own box
    chip.click()
    expect(line).to_have_count(0)
    expect(chip).to_have_attribute("aria-expanded", "false")


def test_a_trace_chip_opens_the_rows(browse: Open, site: Site) -> None:
    page = browse().open(f"/runs/{site.ids['run']}/identity")

    page.locator("#item-attention_gemm_backend a.chip").click()

    expect(page.locator("#quote-attention_gemm_backend tbody tr")).to_have_count(2)


@ON_BOTH
def test_ledgers_are_narrowed_to_what_disagrees(browse: Open, site: Site) -> None:
    page = browse().open(f"/runs/{site.ids['run']}/ledgers")

    page.get_by_role("link", name="client and server disagree").click()

    rows = page.locator("#attempts-region table.tight tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("timeout")
    expect(rows.first).to_contain_text("disagrees")
    rows.first.get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="load-0006.A1")).to_be_visible()


def test_hostile_model_output_does_nothing(browse: Open, site: Site) -> None:
    window = browse()

    page = window.open(f"/runs/{site.ids['run']}/attempts/cases-0002.A1")

    assert "owned" not in page.title()
    expect(page.locator("#answer")).to_contain_text("<script>document.title")
    assert page.locator("main img").count() == 0
    assert window.abroad == []


def test_a_lane_of_the_timeline_opens_its_request(browse: Open, site: Site) -> None:
    window = browse()
    page = window.open(f"/runs/{site.ids['run']}/timeline")
    lane = page.locator(".plot .trace.scatter path.js-line").first

    box = lane.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 6, box["y"] + 3)
    page.mouse.click(box["x"] + 6, box["y"] + 3)

    page.wait_for_url(re.compile("/attempts/"))


def test_dragging_over_the_timeline_asks_for_detail(browse: Open, site: Site) -> None:
    window = browse()
    page = window.open(f"/runs/{site.ids['run']}/timeline")
    area = page.locator(".plot .nsewdrag").first.bounding_box()
    assert area is not None
    middle = area["y"] + area["height"] / 2

    with page.expect_response(re.compile(r"timeline/0\.json\?from=")) as answer:
        page.mouse.move(area["x"] + 10, middle)
        page.mouse.down()
        page.mouse.move(area["x"] + 120, middle, steps=6)
        page.mouse.up()

    shown = answer.value.json()["layout"]["xaxis"]["range"]
    assert shown[1] - shown[0] < 4
    labels = page.locator(".plot .ytick text")
    expect(labels.first).to_have_text("cases-0001.A1")
    expect(labels).not_to_have_count(28)


@ON_BOTH
def test_progress_goes_on_by_itself_and_the_page_turns_when_the_run_ends(
    browse: Open, site: Site
) -> None:
    run = site.ids["running"]
    page = browse().open(f"/runs/{run}")
    expect(page.locator("#progress")).to_contain_text("9/28")

    site.demo("step", run, "17")
    expect(page.locator("#progress")).to_contain_text("17/28", timeout=15_000)
    site.demo("end", run)

    expect(page.locator("#progress")).to_have_count(0, timeout=15_000)
    expect(page.locator(".run-head .state")).to_have_text("sealed")


def test_rows_are_walked_and_opened_by_keyboard(browse: Open, site: Site) -> None:
    page = browse().open(f"/runs/{site.ids['run']}/ledgers")
    page.locator("#attempts-region table.tight tbody tr").first.focus()

    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")

    assert "cases-0003.A1" in page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("cases-0003.A1"))


def test_the_content_is_one_key_away(browse: Open, site: Site) -> None:
    page = browse().open("/")

    page.keyboard.press("Tab")

    focused = page.locator(":focus")
    expect(focused).to_have_text("Skip to the content")
    outline = focused.evaluate("(e) => getComputedStyle(e).outlineStyle")
    assert outline == "solid"


def test_chosen_columns_stay_chosen(browse: Open, site: Site) -> None:
    page = browse().open("/runs")
    page.get_by_text("Columns", exact=True).click()

    page.get_by_label("Engine and device").uncheck()

    expect(page.locator("#runs th[data-column=engine]")).to_be_hidden()
    page.reload()
    expect(page.locator("#runs th[data-column=engine]")).to_be_hidden()


def test_a_digest_is_copied_whole(browse: Open, site: Site) -> None:
    window = browse(permissions=["clipboard-read", "clipboard-write"])
    page = window.open(f"/runs/{site.ids['run']}")

    page.get_by_role("button", name="Copy the full digest").first.click()

    expect(page.get_by_text("copied")).to_be_visible()
    assert re.fullmatch(r"[0-9a-f]{64}", page.evaluate("navigator.clipboard.readText()"))


def test_a_figure_is_redrawn_when_the_colour_scheme_changes(browse: Open, site: Site) -> None:
    page = browse().open(f"/runs/{site.ids['run']}/latency")
    label = page.locator(".plot .xtick text").first
    fill = "(e) => getComputedStyle(e).fill"
    light = label.evaluate(fill)

    page.emulate_media(color_scheme="dark")

    expect(label).not_to_have_css("fill", light)


def test_a_slider_moves_the_ledgers_and_the_address_carries_the_instant(
    browse: Open, site: Site
) -> None:
    page = browse().open(f"/runs/{site.ids['run']}/ledgers")
    page.evaluate("window.sameDocument = true")
    slider = page.get_by_label("from the first instant to the last")

    slider.focus()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("PageUp")

    expect(page.locator(".moment")).to_contain_text("As the ledgers stood at", timeout=20_000)
    shown = f"{float(page.locator('#at').input_value()):g}"
    expect(page).to_have_url(re.compile(rf"[?&]at={re.escape(shown)}(&|$)"), timeout=20_000)
    assert page.evaluate("window.sameDocument")
    assert page.evaluate("document.activeElement.type") == "range"  # the keyboard's place is kept
    page.reload()
    expect(page.locator("#at")).to_have_value(shown)


@ON_BOTH
def test_a_typed_instant_shows_what_differed_then(browse: Open, site: Site) -> None:
    page = browse().open(f"/runs/{site.ids['run']}/ledgers")

    page.fill("#at", "9.5")
    expect(page.locator(".moment")).to_contain_text("As the ledgers stood at")

    page.get_by_role("link", name="over for the client, not for the server").click()
    rows = page.locator("#attempts-region table.tight tbody tr")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("load-0006.A1")
    expect(rows.first).to_contain_text("running")


def test_a_closer_look_stays_in_the_address(browse: Open, site: Site) -> None:
    page = browse().open(f"/runs/{site.ids['run']}/timeline")
    area = page.locator(".plot .nsewdrag").first.bounding_box()
    assert area is not None
    middle = area["y"] + area["height"] / 2

    page.mouse.move(area["x"] + 10, middle)
    page.mouse.down()
    page.mouse.move(area["x"] + 160, middle, steps=6)
    page.mouse.up()

    page.wait_for_url(re.compile(r"from=[-\d.]+&to=[\d.]+&domain=0"))
    expect(page.locator("#behind-0 details summary")).not_to_contain_text("130 ")
    asked = page.url
    page.goto(asked)
    expect(page.locator("input[name=from]").last).to_have_value(
        re.search(r"from=([-\d.]+)", asked)[1]  # type: ignore[index]
    )


@pytest.mark.parametrize("form", ["PNG", "SVG"])
def test_a_figure_is_saved_without_asking_anybody(form: str, browse: Open, site: Site) -> None:
    window = browse()
    page = window.open(f"/runs/{site.ids['run']}/latency")

    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile(f"^{form}: Empirical")).click()

    saved = download.value
    assert saved.suggested_filename.endswith(f".{form.lower()}")
    begins = {"PNG": b"\x89PNG", "SVG": b"<svg"}[form]
    assert begins in saved.path().read_bytes()[:200]
    assert window.abroad == []


@ON_BOTH
def test_a_table_is_saved_under_the_filter_of_its_page(browse: Open, site: Site) -> None:
    page = browse().open(f"/runs/{site.ids['run']}/ledgers?client=timeout")

    with page.expect_download() as download:
        page.locator("#attempts-region > .table-foot").get_by_role("link", name="CSV").click()

    lines = download.value.path().read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("load-0006.A1,")


def test_the_page_is_read_in_chinese_by_one_link(browse: Open, site: Site) -> None:
    page = browse().open(f"/runs/{site.ids['run']}")

    page.get_by_role("link", name="简体中文").click()

    expect(page.get_by_role("heading", name="受什么限制")).to_be_visible()
    assert page.locator("html").get_attribute("lang") == "zh-hans"
