"""A price is declared whole or not at all, and none is ever assumed."""

from typing import Any

import pytest

from experiments.compose import compose
from experiments.errors import Refusal
from experiments.identity import spec_digest
from experiments.plan import check
from tests.experiments.declarations import STUDY, changed, example

PRICE = {
    "amount": 2.5, "currency": "EUR", "per": "device_hour", "as_of": "2026-11-30", "source": "a contract",
}  # fmt: skip


def test_without_a_declaration_there_is_no_price() -> None:
    assert example()["device"]["price"] is None


def test_a_price_changes_nothing_of_what_is_measured() -> None:
    priced = changed(example(), "device.price", PRICE)

    assert check(priced) == []
    assert spec_digest(priced) == spec_digest(example())


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("amount", 0.0),
        ("amount", float("inf")),
        ("currency", "euro"),
        ("as_of", "yesterday"),
        ("as_of", "20261130"),
        ("source", " "),
    ],
)
def test_what_is_no_price_is_refused_by_its_field(field: str, value: Any) -> None:
    (finding,) = check(changed(example(), "device.price", PRICE | {field: value}))

    assert finding.field == f"device.price.{field}"
    assert finding.allowed


@pytest.mark.forbids
def test_half_a_price_is_refused() -> None:
    with pytest.raises(Refusal):
        compose([STUDY, "device.price={amount: 2.5}"])
