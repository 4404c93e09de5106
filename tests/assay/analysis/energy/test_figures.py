"""Joules and cost by request and by output token, worked by hand; without a meter or a price: a reason."""

from typing import Any

import pytest

from assay.analysis.absence import Absent
from assay.analysis.aggregates import Scope
from assay.analysis.energy.cost import NO_PRICE
from assay.analysis.energy.drawn import Meter
from assay.analysis.energy.figures import EnergyFigures, Metering, energy_figures
from assay.analysis.metrics.energy_rules import ENERGY_RULES
from assay.analysis.resources.readings import Reading
from assay.analysis.window import Window
from assay.analysis.wire.attempt import Attempt
from tests.assay.analysis.streams import DONE, MS, attempts, delta, read, row, usage

SCOPE = Scope(
    population="attempts", denominator="attempts", perspective="client", clock_domain="c", limited_by="E2"
)  # fmt: skip
WINDOW = Window(from_ns=0, to_ns=200 * MS, chosen="asked for")
HOURLY = {
    "amount": 3.6, "currency": "EUR", "per": "device_hour", "as_of": "2026-11-30", "source": "a contract",
}  # fmt: skip


def two_of_three() -> list[Attempt]:
    """Three tokens and one completed in the window; one cancelled; nothing in flight from 100 ms on."""
    return attempts(
        row("sent", 0),
        read(50, delta("a", ids=[1])),
        read(60, delta("b", ids=[2])),
        read(100, delta("c", ids=[3], finish="stop") + usage(3, 7) + DONE),
        row("closed", 100),
        row("sent", 10, "k"),
        row("cancel", 40, "k"),
    )


def watts(subject: str, *values: tuple[float, float]) -> list[Reading]:
    return [
        Reading(t_ns=round(t_ms * MS), subject=subject, pid=None, metric="power_w", value=value)
        for t_ms, value in values
    ]


# 300 W for 100 ms, then 100 W for 100 ms: 30 + 10 = 40 J, of which the last 10 J idle
BOARD = watts("nvml:0", (0, 300.0), (100, 300.0), (100.000001, 100.0), (200, 100.0))
# 60 W throughout: 12 J, 6 of them idle
PACKAGE = watts("rapl:package-0", (0, 60.0), (200, 60.0))


def figures(
    readings: list[Reading],
    *,
    price: dict[str, Any] | None = None,
    window: Window | Absent = WINDOW,
    devices: int = 1,
) -> EnergyFigures:
    metering = Metering(
        readings=readings,
        absent={Meter.accelerator: "no driver", Meter.cpu_package: "no counters"},
        price=price,
        devices=devices,
    )
    return energy_figures(metering, two_of_three(), window, SCOPE)


def by_rule(found: EnergyFigures) -> dict[str, Any]:
    return {a["rule"]: a["value"] for a in found.aggregates}


def test_every_rule_of_energy_by_hand() -> None:
    values = by_rule(figures([*BOARD, *PACKAGE]))

    assert values == {
        "energy.accelerator.total": pytest.approx(40.0),
        "energy.accelerator.per_request": pytest.approx(40.0),  # one completed
        "energy.accelerator.per_output_token": pytest.approx(40.0 / 3),
        "energy.accelerator.idle_share": pytest.approx(0.25),
        "energy.cpu_package.total": pytest.approx(12.0),
        "energy.cpu_package.per_request": pytest.approx(12.0),
        "energy.cpu_package.per_output_token": pytest.approx(4.0),
        "energy.cpu_package.idle_share": pytest.approx(0.5),
    }
    assert set(values) < set(ENERGY_RULES)


def test_every_rule_of_cost_by_hand() -> None:
    # 3.6 EUR an hour is 0.001 EUR a second: two devices for 0.2 s cost 0.0004 EUR
    found = figures([], price=HOURLY, devices=2)

    assert by_rule(found) == {
        "cost.total": pytest.approx(0.0004),
        "cost.per_request": pytest.approx(0.0004),
        "cost.per_output_token": pytest.approx(0.0004 / 3),
    }
    assert {a["unit"] for a in found.aggregates} == {"EUR"}
    assert found.cost["price"] == HOURLY


def test_a_price_by_energy_takes_what_was_metered() -> None:
    by_energy = HOURLY | {"per": "kilowatt_hour", "amount": 0.36}

    # 52 J are 52 / 3.6e6 kWh
    assert figures([*BOARD, *PACKAGE], price=by_energy).cost["total"] == pytest.approx(5.2e-6)
    unmetered = figures([], price=by_energy).cost
    assert unmetered["total"] is None
    assert "no meter" in unmetered["reasons"]["total"]


@pytest.mark.forbids
def test_without_a_declared_price_no_cost_is_given() -> None:
    found = figures(BOARD)

    assert (found.cost["total"], found.cost["currency"]) == (None, None)
    assert set(found.cost["reasons"].values()) == {NO_PRICE}
    assert not any(rule.startswith("cost.") for rule in by_rule(found))


def test_an_absent_meter_is_a_reason_and_not_zero() -> None:
    rows = {row["meter"]: row for row in figures([]).energy}

    assert rows["accelerator boards"]["total_j"] is None
    assert rows["accelerator boards"]["reasons"]["per_request_j"] == "no driver"
    assert rows["processor packages"]["reasons"]["total_j"] == "no counters"


def test_without_a_window_nothing_is_divided() -> None:
    found = figures(BOARD, price=HOURLY, window=Absent("overloaded"))

    assert {row["reasons"]["total_j"] for row in found.energy} == {"overloaded"}
    assert found.cost["reasons"]["total"] == "overloaded"
