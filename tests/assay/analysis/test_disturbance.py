"""Who had the cores in the measured window."""

from typing import Any

import pytest

from assay.analysis.disturbance import host_disturbed, other_cpu_share
from tests.assay.analysis.observations import observed, step


def sample(
    t_ns: int, subject: str, metric: str, value: float, pid: int | None = None
) -> dict[str, Any]:
    return {"t_ns": t_ns, "subject": subject, "pid": pid, "metric": metric, "value": value}


def counters(*, busy: float, idle: float, engine: float, client: float) -> list[dict[str, Any]]:
    """Two looks, at 1 s and 2 s, that many CPU seconds apart."""
    rows = [
        ("host", "cpu_user_s", 100.0, busy, None),
        ("host", "cpu_idle_s", 500.0, idle, None),
        ("engine", "cpu_user_s", 3.0, engine, 7),
        ("client", "cpu_system_s", 1.0, client, 8),
        ("host", "context_switches", 1e6, 1e3, None),
    ]
    first = [sample(10**9, who, metric, start, pid) for who, metric, start, _, pid in rows]
    last = [sample(2 * 10**9, who, metric, start + d, pid) for who, metric, start, d, pid in rows]
    return first + last


def test_what_is_neither_ours_nor_idle_went_to_others() -> None:
    # 2 s of two processors: 1.9 busy, of it 1.2 engine and 0.3 client: 0.4 of 2.0 to others
    rows = counters(busy=1.9, idle=0.1, engine=1.2, client=0.3)

    assert other_cpu_share(rows, from_ns=0, to_ns=10**10) == pytest.approx(0.2)


def test_samples_outside_the_window_do_not_count() -> None:
    rows = counters(busy=1.9, idle=0.1, engine=1.2, client=0.3)

    assert other_cpu_share(rows, from_ns=0, to_ns=10**9) is None
    assert other_cpu_share([], from_ns=0, to_ns=10**9) is None


def test_the_sentence_is_said_above_a_tenth_only() -> None:
    found = observed(steps=[step(10, 1.5)])  # from 1.0 s to 2.5 s
    loud = counters(busy=1.9, idle=0.1, engine=1.2, client=0.3)
    quiet = counters(busy=1.6, idle=0.4, engine=1.2, client=0.3)

    said = host_disturbed(loud, found)

    assert said is not None
    assert "took 20% of the machine's CPU time" in said
    assert host_disturbed(quiet, found) is None
    assert host_disturbed(loud, observed()) is None
