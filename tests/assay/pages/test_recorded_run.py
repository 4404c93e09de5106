"""A stream that was recorded elsewhere and imported as E0: every page renders, and nothing is claimed."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from assay.archive.paths import Home
from assay.archive.sample import build_e0_bundle
from assay.execution.importing import import_bundle
from assay.ledger.models import Run
from tests.assay.pages.conftest import page
from tests.assay.pages.test_run_pages import PAGES

MS = 1_000_000


def stream() -> list[dict[str, Any]]:
    """One attempt whose client gave up at 2 s while chunks still came."""
    chunk = 'data: {"choices": [{"delta": {"content": "silver "}}]}\n\n'
    rows: list[dict[str, Any]] = [
        {"t_ns": 0, "kind": "created", "task_id": "T1", "request_id": "R1"},
        {"t_ns": MS, "kind": "sent"},
        {"t_ns": 3 * MS, "kind": "headers", "status": 200},
        *({"t_ns": (400 + 300 * i) * MS, "kind": "read", "text": chunk} for i in range(5)),
        {"t_ns": 2000 * MS, "kind": "timeout"},
    ]
    return [{"attempt_id": "A1", **row} for row in rows]


def events() -> list[dict[str, Any]]:
    shared = {
        "clock_domain": "server",
        "error_ns": MS,
        "layer": "engine",
        "perspective": "server",
        "attempt_id": "A1",
    }
    return [
        {"event": "server.running", "t_ns": 500 * MS, **shared},
        {"event": "server.completed", "t_ns": 5100 * MS, **shared},
    ]


@pytest.fixture
def recorded(db: None, assay_home: Home, tmp_path: Path) -> Run:
    for name, rows in (("wire.jsonl", stream()), ("events.jsonl", events())):
        (tmp_path / name).write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    declaration = {
        "study": {"name": "two_clocks"},
        "artifact": {"name": "not stated"},
        "engine": {"key": "recorded", "version": "unknown"},
        "device": {"name": "none", "kind": "none"},
        "contract": {"name": "deadline", "deadline_s": 3},
    }
    build_e0_bundle(
        wire=tmp_path / "wire.jsonl",
        events=tmp_path / "events.jsonl",
        declaration=declaration,
        out=tmp_path / "bundle",
        sealed_at=datetime(2026, 11, 29, tzinfo=UTC),
    )
    return import_bundle(tmp_path / "bundle", assay_home, owner="ada").run


@pytest.mark.req("9.11")
@pytest.mark.forbids
def test_an_e0_archive_verifies_nothing_of_the_inside(recorded: Run, somebody: Client) -> None:
    for name in PAGES:
        page(somebody, reverse(name, args=[recorded.pk]))

    overview = page(somebody, reverse("run", args=[recorded.pk]))
    identity = page(somebody, reverse("run-identity", args=[recorded.pk]))
    assert '<span class="level">E0</span>' in overview
    assert "identity incomplete" in overview
    assert identity.count("unknown: a recorded stream without a device: nothing ran here") == 2 * 8
    assert 'data-strength="trace"' not in identity


@pytest.mark.req("8.06")
def test_its_ledgers_disagree_and_the_ghost_load_is_named(recorded: Run, somebody: Client) -> None:
    text = page(somebody, reverse("run-attempt", args=[recorded.pk, "A1"]))

    assert 'data-state="timeout"' in text
    assert 'data-state="completed"' in text
    assert "3.10" in text  # 2000 to 5100 ms
    assert "silver" in text


@pytest.mark.req("3.07", "3.10")
def test_two_clocks_never_share_an_axis(recorded: Run, somebody: Client) -> None:
    text = page(somebody, reverse("run-timeline", args=[recorded.pk]))

    assert text.count('<section class="entry" aria-labelledby="domain-') == 2
    assert "clock server" in text
