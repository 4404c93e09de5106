import pytest

from runners.load.limits import Timeouts, send_lag_ns
from runners.protocol.errors import Refused
from tests.runners.load.drives import load_of


@pytest.mark.parametrize("name", ["connect_s", "first_byte_s", "total_s"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_a_wait_must_be_positive_or_null(name: str, value: float) -> None:
    with pytest.raises(Refused, match=f"load.timeouts.{name}"):
        Timeouts.from_load(load_of(timeouts={name: value}))


def test_null_waits_are_no_waits() -> None:
    never = {"connect_s": None, "first_byte_s": None, "total_s": None}

    assert Timeouts.from_load(load_of(timeouts=never)) == Timeouts(**never)


def test_the_send_lag_leaves_out_the_handshake() -> None:
    lag = send_lag_ns(
        scheduled_ns=1_000,
        created_ns=1_030,
        connect_start_ns=1_040,
        connected_ns=1_540,
        sent_ns=1_560,
    )

    # 1560 - 1000 = 560, less the 500 of the handshake.
    assert lag == 60


def test_the_send_lag_of_what_was_never_sent_counts_from_its_creation() -> None:
    lag = send_lag_ns(
        scheduled_ns=1_000,
        created_ns=1_030,
        connect_start_ns=1_040,
        connected_ns=None,
        sent_ns=None,
    )

    assert lag == 30
