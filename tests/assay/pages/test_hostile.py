"""Text that nobody vouches for."""

import json

import polars as pl
import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from assay.archive.derived_schemas import ATTEMPTS
from assay.pages.hostile import visible, visible_bytes
from runners.protocol import layout
from tests.assay.pages.factory import Laboratory

EVIL = "<script>alert(1)</script> \x1b[31mred \u202eback"


def test_a_terminal_escape_is_drawn() -> None:
    assert visible("\x1b[31mred\x1b[0m") == "␛[31mred␛[0m"


def test_a_direction_mark_is_named_and_not_obeyed() -> None:
    assert visible("a\u202eb") == "a⟦U+202E⟧b"


def test_what_is_no_utf8_is_shown_as_replaced() -> None:
    assert visible_bytes(b"ok\xff\x00") == "ok\ufffd␀"


def test_a_line_of_a_megabyte_is_cut_and_says_so() -> None:
    assert visible("x" * 1_000_000, limit=100).endswith("(999900 more characters)")


@given(st.text())
def test_nothing_invisible_is_left(text: str) -> None:
    assert all(c.isprintable() or c in "\n\t" for c in visible(text) if c not in "\u3000\xa0")


class TestOnPages:
    """A bundle and a reading full of it: every page that shows text shows it as text."""

    @pytest.fixture
    def hostile(self, lab: Laboratory) -> Laboratory:
        folder = lab.home.bundle(lab.bundle.digest)
        for name in (layout.ENGINE_LOG, layout.SESSION):
            path = folder / name
            path.chmod(0o644)
            line = (
                json.dumps({"event": "gap", "t_ns": 1, "what": EVIL}) if ".json" in name else EVIL
            )
            with path.open("a", encoding="utf-8") as stream:
                stream.write(line + "\n" + ("x" * 1_000_000) + "\n")
        reading = next(lab.home.derived.glob(f"{lab.bundle.digest}/*"))
        table = reading / ATTEMPTS
        pl.read_parquet(table).with_columns(
            server_end_detail=pl.lit(EVIL), failure=pl.lit(EVIL), client_end_detail=pl.lit(EVIL)
        ).write_parquet(table)
        return lab

    @pytest.mark.parametrize(
        "address",
        ["log", "ledgers", "quote?file=engine.log&line=21", "quote?file=session.jsonl&line=9"],
    )
    def test_nothing_is_obeyed(self, address: str, hostile: Laboratory, somebody: Client) -> None:
        response = somebody.get(f"/runs/{hostile.run.pk}/{address}")
        text = response.content.decode()

        assert response.status_code == 200
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert" in text
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert len(text) < 400_000  # a line of a megabyte is cut, and says so
