"""Whether a run met its SLO, and when that cannot be said."""

from typing import Any

import pytest

from assay.analysis.capacity_search import Verdict
from assay.analysis.slo_verdict import judged


def reading(goodput: float | None = 1.0, **more: Any) -> dict[str, Any]:
    aggregate = {
        "rule": "goodput.ratio",
        "statistic": "ratio",
        "value": goodput,
        "absent": None if goodput is not None else "no attempt was offered",
    }
    window = {"from_ns": 0, "to_ns": 9, "chosen": "first to last arrival", "absent": None}
    return {"aggregates": [aggregate], "windows": [window], **more}


def verdict(found: dict[str, Any] | None, **more: Any) -> tuple[Verdict, str]:
    given: dict[str, Any] = {"state": "sealed", "reason": "", "client_limits": [], "share": 0.95}
    probe = judged(8.0, found, **{**given, **more})
    return probe.verdict, probe.reason


@pytest.mark.parametrize(
    ("goodput", "expected"),
    [(0.95, Verdict.met), (1.0, Verdict.met), (0.9499, Verdict.not_met), (0.0, Verdict.not_met)],
)
def test_goodput_over_offered_decides(goodput: float, expected: Verdict) -> None:
    assert verdict(reading(goodput))[0] is expected


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("found", "more", "words"),
    [
        (reading(), {"state": "failed", "reason": "engine ended"}, "engine ended"),
        (None, {"reason": "exit code 1"}, "not read"),
        (reading(), {"client_limits": ["3 of 9 sends late"]}, "client limited: 3 of 9"),
        (reading(None), {}, "no attempt was offered"),
        (reading(aggregates=[]), {}, "no SLO was declared"),
        (
            reading(windows=[{"absent": "no steady state: offered rate above capacity"}]),
            {},
            "offered rate above capacity",
        ),
    ],
)
def test_a_run_that_cannot_be_judged_is_invalid_however_good_it_looks(
    found: dict[str, Any] | None, more: dict[str, Any], words: str
) -> None:
    seen, reason = verdict(found, **more)

    assert seen is Verdict.invalid
    assert words in reason
