"""The four ledgers at their ends and at an instant: filters, counts, pages, addresses."""

import re
from pathlib import Path

import polars as pl
import pytest
from django.http import QueryDict
from django.test import Client
from django.urls import reverse

from assay.analysis.absence import Absent
from assay.analysis.clocks import Instant
from assay.analysis.documents import LEDGERS
from assay.analysis.ledgers.joined_at import ledgers_at
from assay.archive.derived_schemas import ATTEMPTS, LEDGER_ROWS
from assay.archive.stored_reading import StoredReading
from assay.pages.at_instant import NOW, UNCLEAR, attempts_at, next_changes
from assay.pages.contexts.ledger_filter import LedgerFilter
from tests.assay.pages import simulated
from tests.assay.pages.conftest import page
from tests.assay.pages.factory import Laboratory

MS = 1_000_000


@pytest.fixture
def folder(lab: Laboratory) -> Path:
    return next(lab.home.derived.glob(f"{lab.bundle.digest}/*"))


def url(lab: Laboratory, query: str = "") -> str:
    return reverse("run-ledgers", args=[lab.run.pk]) + (f"?{query}" if query else "")


def rows(text: str) -> list[str]:
    """The attempts of the table, in its order."""
    table = text[text.index('id="attempts-region"') :]
    return re.findall(r'class="mono nowrap" href="[^"]+">([\w.-]+)</a>', table)


@pytest.mark.req("8.06")
@pytest.mark.parametrize("ms", [0, 119, 120, 500, 6600, 9500, 12_345.678, 60_000])
def test_the_columns_say_what_the_ledgers_own_rule_says(folder: Path, ms: float) -> None:
    at_ns = round(ms * MS)
    found = attempts_at(folder, at_ns, simulated.DOMAIN, frozenset())
    stored = StoredReading(folder)
    at = Instant(t_ns=at_ns, clock_domain=simulated.DOMAIN, error_ns=0)
    expected = ledgers_at({name: stored.ledger_rows(name) for name in LEDGERS}, at)

    for one in expected:
        own = found.row(by_predicate=pl.col("attempt_id") == one.attempt_id, named=True)
        for ledger in LEDGERS:
            row = getattr(one, ledger)
            state = None if isinstance(row, Absent) else row["state"]
            assert own[f"{ledger}{NOW}"] == state, (one.attempt_id, ledger)


@pytest.mark.req("8.06", "3.11")
def test_within_the_error_bound_of_another_clock_a_state_is_unclear(folder: Path) -> None:
    stored = pl.read_parquet(folder / LEDGER_ROWS)
    foreign = (pl.col("ledger") == "server") & (pl.col("subject") == "load-0001.A1")
    stored.with_columns(
        clock_domain=pl.when(foreign).then(pl.lit("elsewhere")).otherwise("clock_domain"),
        error_ns=pl.when(foreign).then(5 * MS).otherwise("error_ns"),
    ).write_parquet(folder / LEDGER_ROWS)
    begins = stored.filter(foreign & (pl.col("state") == "running"))["from_ns"][0]

    def server(at_ns: int, *loose: str) -> str | None:
        attempts_at.cache_clear()
        found = attempts_at(folder, at_ns, simulated.DOMAIN, frozenset(loose))
        own = found.row(by_predicate=pl.col("attempt_id") == "load-0001.A1", named=True)
        state: str | None = own[f"server{NOW}"]
        return state

    # +-5 ms around the start of running the record decides nothing; 6 ms later it does
    assert server(begins + 4 * MS) == UNCLEAR
    assert server(begins + 6 * MS) == "running"
    assert server(begins + 6 * MS, "elsewhere") == UNCLEAR  # not calibrated: no instant is clear


@pytest.mark.req("8.06", "8.03")
def test_the_page_shows_the_ledgers_as_they_stood(lab: Laboratory, somebody: Client) -> None:
    # load-0006 is given up by its client 900 ms after it was sent, and worked on until its last token
    told = next(t for t in simulated.told() if t.name == "load-0006")
    assert told.gave_up is not None
    seconds = (told.gave_up + 100) / 1000

    text = page(somebody, url(lab, f"at={seconds}&q=load-0006"))

    assert rows(text) == ["load-0006.A1"]
    row = text[text.index("load-0006.A1</a>") :]
    states = re.findall(r'data-state="(\w+)"', row)[:4]
    assert states == ["timeout", "running", "failure", "held"]
    assert f'value="{seconds:.6g}"' in text


def test_ghost_load_is_found_at_its_instant_and_not_before(
    lab: Laboratory, somebody: Client
) -> None:
    told = next(t for t in simulated.told() if t.name == "load-0006")
    assert told.gave_up is not None

    during = page(somebody, url(lab, f"at={(told.gave_up + 100) / 1000}&show=ghost"))
    before = page(somebody, url(lab, f"at={(told.gave_up - 100) / 1000}&show=ghost"))

    assert "load-0006.A1" in rows(during)
    assert "load-0006.A1" not in rows(before)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("show=left_then_completed", ["load-0006.A1"]),
        ("client=timeout", ["load-0006.A1"]),
        ("client=timeout&server=cancelled", []),
        ("server=undetermined", ["load-0022.A1"]),
        ("q=0022", ["load-0022.A1"]),
        ("show=disagree&sort=-attempt", ["load-0011.A1", "load-0006.A1"]),
        ("show=no_such_kind&client=rejected", ["load-0017.A1"]),
        ("client=%3Cscript%3E", []),
    ],
)
def test_attempts_are_filtered_by_the_state_of_each_ledger(
    query: str, expected: list[str], lab: Laboratory, somebody: Client
) -> None:
    assert rows(page(somebody, url(lab, query))) == expected


def test_a_later_page_in_another_order_holds_the_rest(lab: Laboratory, somebody: Client) -> None:
    first, second = (
        rows(page(somebody, url(lab, f"sort=-attempt&page={number}"))) for number in (1, 2)
    )

    assert first[0] == "load-0024.A1"
    assert len(first) == 25
    assert second == ["cases-0003.A1", "cases-0002.A1", "cases-0001.A1"]


def test_rows_are_read_by_number_from_their_row_groups(folder: Path) -> None:
    table = pl.read_parquet(folder / ATTEMPTS)
    table.write_parquet(folder / ATTEMPTS, row_group_size=5)

    found = StoredReading(folder).numbered(ATTEMPTS, [27, 3, 12, 4])

    # groups of five rows: 25-27, 0-4, 10-14
    assert found["attempt_id"].to_list() == [table["attempt_id"][n] for n in (27, 3, 12, 4)]
    assert StoredReading(folder).numbered(ATTEMPTS, []).height == 0


def test_client_and_server_states_are_counted_against_each_other(
    lab: Laboratory, somebody: Client
) -> None:
    cells = somebody.get(url(lab, "table=matrix&format=json")).json()

    found = {(c["client"], c["server"]): (c["attempts"], c["agrees"]) for c in cells}
    assert found["timeout", "completed"] == (1, False)
    assert found["failed", "cancelled"] == (1, False)
    assert found["completed", "completed"] == (23, True)
    assert sum(count for count, _agrees in found.values()) == 28


def test_the_next_change_is_the_next_instant_of_any_ledger(folder: Path) -> None:
    # the first request is created 0.4 ms before its send at 120 ms, received 1 ms after it
    assert next_changes(folder, 120 * MS) == (round(119.6 * MS), 121 * MS)
    assert next_changes(folder, 0) == (None, round(119.6 * MS))


def test_a_slider_leaves_no_history_and_the_address_carries_the_instant(
    lab: Laboratory, somebody: Client
) -> None:
    headers = {"HX-Request": "true", "HX-Trigger": "ledgers-filter"}

    response = somebody.get(url(lab, "at=9.5&client=&part=table"), headers=headers)

    assert response["HX-Replace-Url"].endswith("/ledgers?at=9.5")
    assert "<html" not in response.content.decode()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("9.5", 9.5), ("9,5 s", 9.5), ("", None), ("nan", None), ("1e300", None), ("soon", None)],
)
def test_an_instant_is_a_number_of_seconds_or_none(text: str, seconds: float | None) -> None:
    query = QueryDict(mutable=True)
    query["at"] = text

    assert LedgerFilter.parse(query).at_s == seconds


def test_what_is_shown_is_what_is_exported(lab: Laboratory, somebody: Client) -> None:
    ends = somebody.get(url(lab, "client=timeout&format=json")).json()
    then = somebody.get(url(lab, "at=9.5&q=load-0009&table=at&format=json")).json()

    assert [row["attempt_id"] for row in ends] == ["load-0006.A1"]
    assert then[0]["client"] is None
    assert then[0]["client_absent"] == "not yet"
