"""What is tried again, after which wait, and when the client gives up."""

from datetime import UTC, datetime
from typing import Any

import pytest

from runners.load.retry import Failure, RetryPolicy, retry_after_s
from runners.protocol.errors import Refused
from tests.runners.load.drives import load_of


def policy(**retry: object) -> RetryPolicy:
    return RetryPolicy.from_load(load_of(retry=retry, seed=3))


def failed(**changes: Any) -> Failure:
    return Failure(**{"request_id": "r", "tries": 1, "end": "error", "status": None, **changes})


@pytest.mark.parametrize(
    ("retry", "field"),
    [
        ({"count": -1}, "count"),
        ({"backoff_s": -0.1}, "backoff_s"),
        ({"backoff_s": 2.0, "backoff_max_s": 1.0}, "backoff_max_s"),
        ({"jitter": 1.5}, "jitter"),
        ({"give_up": "when tired"}, "give_up"),
        ({"give_up": "deadline"}, "deadline_s"),
        ({"deadline_s": 1.0}, "deadline_s"),
        ({"give_up": "budget", "budget_ratio": 0.0}, "budget_ratio"),
        ({"retry_after": "sometimes"}, "retry_after"),
    ],
)
def test_a_retry_policy_that_makes_no_sense_is_refused(
    retry: dict[str, object], field: str
) -> None:
    with pytest.raises(Refused, match=f"load.retry.{field}"):
        policy(**retry)


@pytest.mark.req("8.16")
def test_the_back_off_doubles_with_each_retry_up_to_its_most() -> None:
    waits = [
        policy(count=4, backoff_s=0.5, backoff_max_s=1.5).wait_s(failed(tries=tries))
        for tries in (1, 2, 3, 4, 5)
    ]

    # 0.5 * 2**0, 2**1, then 2.0 and 4.0 cut to 1.5; the fifth try was the last one allowed.
    assert waits == [0.5, 1.0, 1.5, 1.5, None]


def test_a_back_off_without_a_most_stays_a_number_however_many_tries() -> None:
    wait = policy(count=10_000, backoff_s=1.0, backoff_max_s=60.0).wait_s(failed(tries=9_999))

    assert wait == 60.0


@pytest.mark.req("8.16")
def test_jitter_spreads_the_back_off_and_is_the_same_whenever_it_is_drawn() -> None:
    jittered = policy(count=1, backoff_s=1.0, jitter=0.2)
    waits = {
        request: jittered.wait_s(failed(request_id=request))
        for request in (f"load-{n:04d}" for n in range(200))
    }

    assert all(0.8 <= (wait or 0) < 1.2 for wait in waits.values())
    assert len(set(waits.values())) == 200
    assert waits["load-0007"] == jittered.wait_s(failed(request_id="load-0007"))


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
    wait = policy(count=1).wait_s(failed(end=end, status=status))

    assert (wait is not None) is again


def test_nothing_is_tried_again_without_a_declared_retry() -> None:
    assert policy().wait_s(failed()) is None


@pytest.mark.req("8.16")
@pytest.mark.parametrize(("elapsed_s", "wait_s"), [(0.7, 0.2), (0.9, None)])
def test_a_deadline_ends_the_retries_that_could_not_begin_in_time(
    elapsed_s: float, wait_s: float | None
) -> None:
    rule = policy(count=9, backoff_s=0.2, give_up="deadline", deadline_s=1.0)

    # 0.7 + 0.2 = 0.9 is within 1.0; 0.9 + 0.2 = 1.1 is not
    assert rule.wait_s(failed(elapsed_s=elapsed_s)) == wait_s


@pytest.mark.req("8.16")
@pytest.mark.parametrize(("retries", "again"), [(1, True), (2, False)])
def test_a_budget_bounds_the_retries_of_the_whole_segment(retries: int, again: bool) -> None:
    rule = policy(count=9, give_up="budget", budget_ratio=0.1)

    # 20 first tries allow 0.1 * 20 = 2 retries: the second may go, the third may not
    assert (rule.wait_s(failed(first_tries=20, retries=retries)) is not None) is again


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3", 3.0),
        (" 0 ", 0.0),
        ("Wed, 21 Oct 2026 07:28:30 GMT", 30.0),
        ("Wed, 21 Oct 2026 07:27:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        ("1e400", None),
        (None, None),
    ],
)
def test_retry_after_is_read_in_both_of_its_forms(text: str | None, seconds: float | None) -> None:
    now = datetime(2026, 10, 21, 7, 28, 0, tzinfo=UTC)

    assert retry_after_s(text, now=now) == seconds


def test_a_retry_after_that_is_honoured_makes_the_wait_longer_and_never_shorter() -> None:
    honouring = policy(count=1, backoff_s=2.0, retry_after="honour")

    assert honouring.wait_s(failed(retry_after="5")) == 5.0
    assert honouring.wait_s(failed(retry_after="1")) == 2.0
    assert policy(count=1, backoff_s=2.0).wait_s(failed(retry_after="5")) == 2.0
