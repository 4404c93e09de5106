"""Error pages: what, what to do, a reference; no stack trace."""

import logging

import pytest
from django.test import Client

from assay.pages.views import runs as module
from tests.assay.pages.conftest import page


def test_a_page_that_does_not_exist_names_what_was_asked(db: None, somebody: Client) -> None:
    text = page(somebody, "/nothing/here<b>", status=404)

    assert "There is no such page" in text
    assert "<b>" not in text


def test_a_broken_page_gives_a_reference_that_stands_in_the_log(
    somebody: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a secret detail")

    monkeypatch.setattr(module, "runs_page", broken)
    somebody.raise_request_exception = False

    with caplog.at_level(logging.ERROR, logger="assay.pages"):
        response = somebody.get("/runs")

    text = response.content.decode()
    record = next(r for r in caplog.records if r.name == "assay.pages")
    reference = record.getMessage().split(":")[0].removeprefix("reference ")
    assert response.status_code == 500
    assert reference in text
    assert "a secret detail" not in text
    assert "Traceback" not in text
