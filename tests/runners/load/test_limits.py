import pytest

from runners.load.limits import RetryPolicy, Timeouts, send_lag_ns
from runners.protocol.errors import Refused
from tests.runners.load.drives import load_of


def policy(**retry: object) -> RetryPolicy:
    return RetryPolicy.from_load(load_of(retry=retry, seed=3))


@pytest.mark.parametrize("name", ["connect_s", "first_byte_s", "total_s"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_a_wait_must_be_positive_or_null(name: str, value: float) -> None:
    with pytest.raises(Refused, match=f"load.timeouts.{name}"):
        Timeouts.from_load(load_of(timeouts={name: value}))


def test_null_waits_are_no_waits() -> None:
    never = {"connect_s": None, "first_byte_s": None, "total_s": None}

    assert Timeouts.from_load(load_of(timeouts=never)) == Timeouts(**never)


@pytest.mark.parametrize(
    ("retry", "field"),
    [
        ({"count": -1}, "count"),
        ({"backoff_s": -0.1}, "backoff_s"),
        ({"jitter": 1.5}, "jitter"),
        ({"give_up": "when tired"}, "give_up"),
    ],
)
def test_a_retry_policy_that_makes_no_sense_is_refused(
    retry: dict[str, object], field: str
) -> None:
    with pytest.raises(Refused, match=f"load.retry.{field}"):
        policy(**retry)


@pytest.mark.req("8.16")
def test_the_back_off_doubles_with_each_retry() -> None:
    waits = [
        policy(count=3, backoff_s=0.5).wait_s(request_id="r", tries=tries, end="error", status=None)
        for tries in (1, 2, 3, 4)
    ]

    # 0.5 * 2**0, 2**1, 2**2; the fourth try was the last one allowed (one and three retries).
    assert waits == [0.5, 1.0, 2.0, None]


@pytest.mark.req("8.16")
def test_jitter_spreads_the_back_off_and_is_the_same_whenever_it_is_drawn() -> None:
    jittered = policy(count=1, backoff_s=1.0, jitter=0.2)
    waits = {
        request: jittered.wait_s(request_id=request, tries=1, end="timeout", status=None)
        for request in (f"load-{n:04d}" for n in range(200))
    }

    assert all(w is not None and 0.8 <= w < 1.2 for w in waits.values())
    assert len(set(waits.values())) == 200
    assert waits["load-0007"] == jittered.wait_s(
        request_id="load-0007", tries=1, end="timeout", status=None
    )


@pytest.mark.parametrize(
    ("end", "status", "again"),
    [
        ("error", None, True),
        ("timeout", 200, True),
        ("closed", 429, True),
        ("closed", 503, True),
        ("closed", 200, False),
        ("closed", 400, False),
        ("cancel", 200, False),
        (None, None, False),
    ],
)
def test_only_failures_that_may_pass_are_tried_again(
    end: str | None, status: int | None, again: bool
) -> None:
    wait = policy(count=1).wait_s(request_id="r", tries=1, end=end, status=status)

    assert (wait is not None) is again


def test_nothing_is_tried_again_without_a_declared_retry() -> None:
    assert policy().wait_s(request_id="r", tries=1, end="error", status=None) is None


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
