"""How much others used the cores, from telemetry rows worked by hand."""

from typing import Any

import pytest

from runners.evidence.disturbance import disturbance

S = 1_000_000_000
Row = dict[str, Any]


def host(at_s: int, busy: float, steal: float = 0.0) -> list[Row]:
    values = {"cpu_user_s": busy, "cpu_idle_s": 1000.0, "cpu_steal_s": steal}
    return [
        {"t_ns": at_s * S, "subject": "host", "pid": None, "metric": m, "value": v}
        for m, v in values.items()
    ]


def process(at_s: int, pid: int, cpu: float) -> list[Row]:
    values = {"cpu_user_s": cpu / 2, "cpu_system_s": cpu / 2, "rss_bytes": 1e9}
    return [
        {"t_ns": at_s * S + 5, "subject": "engine", "pid": pid, "metric": m, "value": v}
        for m, v in values.items()
    ]


def test_what_the_run_did_not_use_others_used() -> None:
    rows = [
        *(*host(0, 10.0), *process(0, 1, 4.0)),
        *(*host(2, 12.0, steal=0.5), *process(2, 1, 6.0)),
        *(*host(3, 13.0, steal=0.5), *process(3, 1, 6.0)),
    ]

    found = disturbance(rows)

    # 0-2 s: busy 2.5, own 2 -> 0.5 s in 2 s = 0.25 cores; 2-3 s: busy 1, own 0 -> 1 core
    assert found["others_cores_max"] == pytest.approx(1.0)
    assert found["others_cores_mean"] == pytest.approx((0.5 + 1.0) / 3)
    assert found["steal_cores_mean"] == pytest.approx(0.5 / 3)
    assert found["disturbed"] is True


def test_a_run_alone_on_its_host_is_not_disturbed() -> None:
    rows = [*host(0, 10.0), *process(0, 1, 4.0), *host(10, 20.0), *process(10, 1, 13.0)]

    found = disturbance(rows)

    # busy 10, own 9 -> 0.1 cores over 10 s
    assert found["others_cores_mean"] == pytest.approx(0.1)
    assert found["disturbed"] is False


def test_a_process_that_began_between_two_readings_is_not_taken_for_own_time_twice() -> None:
    rows = [*host(0, 10.0), *host(1, 11.0), *process(1, 7, 50.0), *host(2, 12.0)]

    assert disturbance(rows)["others_cores_mean"] == pytest.approx(1.0)


def test_one_reading_says_nothing() -> None:
    found = disturbance(host(0, 10.0))

    assert found["disturbed"] is None
    assert found["reason"] == "fewer than two readings of the host in the measured phase"
