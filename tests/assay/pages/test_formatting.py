"""Quantities as people read them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.pages import formatting
from assay.pages.formatting import quantity, relative, same_scale, significant

THIN = formatting.THIN_SPACE


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.6123, "s", "612 ms"),
        (0.000_181, "s", "181 µs"),
        (61.84, "s", "61.8 s"),
        (17_500_000, "ns", "17.5 ms"),
        (0, "ns", "0 ns"),
        (98_362_432, "byte", "93.8 MiB"),  # 98362432 / 2**20 = 93.806
        (2**30, "byte", "1.00 GiB"),
        (900, "byte", "900 B"),
        (21.4e9, "byte/s", "21.4 GB/s"),
        (1.3e12, "FLOP/s", "1.30 TFLOP/s"),
        (98.42, "token/s", "98.4 token/s"),
        (9.72e-9, "s/byte", "9.72 ns/byte"),
        (5.7e-12, "s/FLOP", "5.70 ps/FLOP"),
        (168_000, "byte*s", "164 KiB·s"),  # 168000 / 1024 = 164.06
        (1234567, "token", f"1{THIN}234{THIN}567 token"),
        (0.75, "1", "0.750"),
        (28, "1", "28"),
    ],
)
def test_a_quantity_has_three_digits_and_its_unit(value: float, unit: str, shown: str) -> None:
    assert str(quantity(value, unit)) == shown.replace(" ", THIN)


def test_the_exact_value_stays_with_its_stored_unit() -> None:
    assert quantity(0.61234567, "s").exact == "0.61234567 s"


@pytest.mark.req("13.01")
@pytest.mark.forbids
@given(st.floats(min_value=1, max_value=1e18))
def test_state_is_never_decimal_and_a_rate_never_binary(value: float) -> None:
    assert quantity(value, "byte").unit in {"B", "KiB", "MiB", "GiB", "TiB"}
    assert quantity(value, "byte/s").unit in {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"}


def test_infinities_and_nan_are_named() -> None:
    shown = [quantity(float(word), "s").text for word in ("nan", "inf", "-inf")]

    assert shown == ["NaN", "∞", "−∞"]


def test_an_interval_is_on_one_scale() -> None:
    assert same_scale([0.588, 0.64], "s") == (["588", "640"], "ms")


@given(st.floats(min_value=1e-4, max_value=1e6))
def test_three_digits_are_within_half_a_unit_of_the_third(value: float) -> None:
    read = float(significant(value).replace(THIN, ""))

    assert abs(read - value) <= 0.0051 * value


def test_a_relative_difference_has_a_sign() -> None:
    assert relative(0.282) == f"+28.2{THIN}%"
    assert relative(-0.0366) == f"−3.66{THIN}%"


def test_elapsed_time_is_read_in_two_units() -> None:
    assert formatting.duration(timedelta(seconds=125)) == f"2{THIN}min 05{THIN}s"
    assert formatting.duration(12000) == f"3{THIN}h 20{THIN}min"
    assert formatting.duration(0.25) == f"250{THIN}ms"
