"""The pages of a run in Chinese: every string is translated, a reader's choice comes before the browser's."""

import gettext
import re
import string

import polib
import pytest
from django.test import Client
from django.urls import reverse

from assay.pages.contexts.head import TABS
from tests.assay.pages.conftest import page
from tests.assay.pages.factory import Laboratory
from tests.messages import CATALOGUE, said

CHINESE = {"HTTP_ACCEPT_LANGUAGE": "zh-CN,zh;q=0.9,en;q=0.5"}
_PERCENT = re.compile(r"%\(\w+\)[sd]")


@pytest.fixture(scope="module")
def catalogue() -> polib.POFile:
    return polib.pofile(str(CATALOGUE))


def test_every_string_of_the_run_s_pages_is_translated(catalogue: polib.POFile) -> None:
    known = {entry.msgid for entry in catalogue if entry.translated() and not entry.fuzzy}

    assert sorted(one for one, _many in said() if one not in known) == []


def test_no_translation_is_kept_of_what_is_no_longer_said(catalogue: polib.POFile) -> None:
    assert {entry.msgid for entry in catalogue} - {one for one, _many in said()} == set()


def test_a_translation_fills_in_the_same_values(catalogue: polib.POFile) -> None:
    def fields(text: str) -> set[str]:
        braces = {name for _, name, _, _ in string.Formatter().parse(text) if name}
        return braces | set(_PERCENT.findall(text))

    for entry in catalogue:
        for text in (entry.msgstr, *entry.msgstr_plural.values()):
            assert not text or fields(text) == fields(entry.msgid_plural or entry.msgid), text


def test_what_is_compiled_is_what_is_written(catalogue: polib.POFile) -> None:
    with CATALOGUE.with_suffix(".mo").open("rb") as stream:
        compiled = gettext.GNUTranslations(stream)

    for entry in catalogue:
        if not entry.msgid_plural:
            assert compiled.gettext(entry.msgid) == entry.msgstr


@pytest.mark.parametrize("name", [name for name, _label in TABS])
def test_every_tab_is_read_in_the_language_that_the_browser_asks_for(
    name: str, lab: Laboratory, somebody: Client
) -> None:
    somebody.defaults.update(CHINESE)

    text = page(somebody, reverse(name, args=[lab.run.pk]))

    assert '<html lang="zh-hans">' in text
    assert "账本" in text  # the tab of the ledgers, with the source's own word


def test_the_link_in_the_footer_changes_the_language_and_stays(
    lab: Laboratory, somebody: Client
) -> None:
    url = reverse("run", args=[lab.run.pk])
    link = re.search(r'href="(/language/zh-hans\?next=[^"]+)"', page(somebody, url))
    assert link is not None

    assert somebody.get(link[1])["Location"] == url

    assert "运行了什么" in page(somebody, url)
    somebody.get(reverse("language", args=["en"]))
    assert "What was run" in page(somebody, url)


@pytest.mark.parametrize("elsewhere", ["https://example.invalid/", "//example.invalid", ""])
def test_the_way_back_never_leaves_the_host(elsewhere: str, stranger: Client) -> None:
    response = stranger.get(reverse("language", args=["zh-hans"]), {"next": elsewhere})

    assert response["Location"] == "/"


def test_a_language_that_there_is_none_of_is_no_page(db: None, stranger: Client) -> None:
    assert stranger.get("/language/tlh").status_code == 404
