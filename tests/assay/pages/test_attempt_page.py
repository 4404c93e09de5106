"""The page of one request: timestamps, counts, ledgers, lanes and raw reads; hostile text as text."""

import json
import re

import pytest
from django.test import Client
from django.urls import reverse

from assay.pages.contexts import raw_reads as module
from runners.protocol import layout
from tests.assay.pages.conftest import page
from tests.assay.pages.factory import Laboratory


def attempt(lab: Laboratory, somebody: Client, name: str, query: str = "") -> str:
    return page(somebody, reverse("run-attempt", args=[lab.run.pk, name]) + query)


@pytest.mark.req("6.03", "6.05")
def test_four_timestamps_and_the_counts_are_separate(lab: Laboratory, somebody: Client) -> None:
    text = attempt(lab, somebody, "cases-0001.A1")

    for stamp in ("first_byte", "first_content_event", "first_visible", "done"):
        assert f'class="mono">{stamp}<' in text
    for count in ("token_ids", "usage", "retokenized", "content_chunks"):
        assert f'class="mono">{count}<' in text


def test_a_time_that_is_missing_says_why(lab: Laboratory, somebody: Client) -> None:
    assert "unknown: closed loop: the request had no scheduled time" in attempt(
        lab, somebody, "cases-0001.A1"
    )


def test_hostile_model_output_is_shown_as_text(lab: Laboratory, somebody: Client) -> None:
    text = attempt(lab, somebody, "cases-0002.A1")

    body = text[text.index("<main") :]
    assert "<script" not in body
    assert "<img" not in body
    assert "&lt;script&gt;document.title" in body
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "␛[31mred" in body


def test_the_ledgers_of_an_attempt_point_at_their_evidence(
    lab: Laboratory, somebody: Client
) -> None:
    text = attempt(lab, somebody, "load-0006.A1")

    assert "timeout_client: total" in text
    links = re.findall(r'hx-get="([^"]*quote[^"]*engine_events[^"]*)"', text)
    assert links
    assert 'class="this"' in page(somebody, links[0].replace("&amp;", "&"))


@pytest.mark.req("4.05", "4.07", "4.12")
def test_the_critical_path_says_what_each_stage_could_save_and_under_which_conditions(
    lab: Laboratory, somebody: Client
) -> None:
    text = attempt(lab, somebody, "load-0001.A1")

    section = text[text.index('id="path"') : text.index('id="metrics"')]
    assert "saved at most by this stage alone" in section
    assert "all other stages are unchanged" in section
    assert "an optimistic conditional lower bound, not attainable performance" in section
    assert "arithmetic and dependency consistency, not an observation" in section


@pytest.mark.req("3.03", "3.04")
def test_both_lanes_stand_apart_with_their_cross_check(lab: Laboratory, somebody: Client) -> None:
    text = attempt(lab, somebody, "cases-0001.A1")

    assert text.count('<div class="lane ledger-') == 2
    assert text.count("Cross-check holds") == 2


@pytest.mark.req("8.21")
def test_ghost_load_is_split_by_evidence(lab: Laboratory, somebody: Client) -> None:
    text = attempt(lab, somebody, "cases-0004.A1")

    for words in ("Ghost load", "computing", "queueing", "holding state", "17.5"):
        assert words in text


@pytest.mark.req("8.04")
def test_an_attempt_without_server_record_is_undetermined(
    lab: Laboratory, somebody: Client
) -> None:
    text = attempt(lab, somebody, "load-0022.A1")

    assert 'data-state="undetermined"' in text
    assert "no server record of this attempt" in text


def test_raw_reads_come_in_pages(
    lab: Laboratory, somebody: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "READS_SHOWN", 10)

    first = attempt(lab, somebody, "cases-0001.A1")
    last = attempt(lab, somebody, "cases-0001.A1", "?reads=4")

    # head and 32 events: 33 reads
    assert "HTTP/1.1 200 OK" in first
    assert "of 33" in first
    assert last[last.index('class="reads"') :].count("<li><span class=") == 3


def test_reads_of_a_recorded_stream_are_shown(lab: Laboratory, somebody: Client) -> None:
    folder = lab.home.bundle(lab.bundle.digest)
    for path in (folder / layout.WIRE_FOLDER).iterdir():
        path.unlink()
    rows = [
        {"attempt_id": "cases-0001.A1", "t_ns": 190_000_000, "kind": "read", "text": "data: <b>"},
        {"attempt_id": "cases-0001.A1", "t_ns": 191_000_000, "kind": "read", "b64": "/w=="},
        {"attempt_id": "other.A1", "t_ns": 1, "kind": "read", "text": "not mine"},
        {"attempt_id": "cases-0001.A1", "t_ns": 192_000_000, "kind": "closed"},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / layout.RECORDED_WIRE).parent.mkdir()
    (folder / layout.RECORDED_WIRE).write_text(text, encoding="utf-8")

    shown = attempt(lab, somebody, "cases-0001.A1")

    assert "data: &lt;b&gt;" in shown
    assert "\ufffd" in shown
    assert "not mine" not in shown
    assert "0.070000 s" in shown  # read at 190 ms, sent at 120 ms


def test_withheld_reads_are_named_and_not_blank(lab: Laboratory, somebody: Client) -> None:
    for path in (lab.home.bundle(lab.bundle.digest) / "wire").iterdir():
        path.unlink()

    assert "withheld from this copy" in attempt(lab, somebody, "cases-0001.A1")


def test_an_unknown_attempt_is_404(lab: Laboratory, somebody: Client) -> None:
    url = reverse("run-attempt", args=[lab.run.pk, "cases-9999.A1"])

    assert "this run has no attempt of that id" in page(somebody, url, status=404)
