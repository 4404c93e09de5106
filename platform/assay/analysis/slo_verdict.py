"""Did one run meet its SLO? Goodput over offered requests decides, and only where the run can be judged."""

from collections.abc import Mapping
from typing import Any

from assay.analysis.capacity_search import Probe, Verdict

GOODPUT = "goodput.ratio"
NO_STEADY_STATE = "no steady state"


def judged(
    value: float,
    reading: Mapping[str, Any] | None,
    *,
    state: str,
    reason: str,
    client_limits: list[str] | None,
    share: float,
) -> Probe:
    """The probe at ``value``. A failed, client limited or unsteady run is invalid, whatever its goodput."""
    problem = _problem(reading, state=state, reason=reason, client_limits=client_limits)
    if problem is not None:
        return Probe(value=value, verdict=Verdict.invalid, reason=problem)
    goodput, absent = _goodput(reading or {})
    if goodput is None:
        return Probe(value=value, verdict=Verdict.invalid, reason=f"goodput is unknown: {absent}")
    met = goodput >= share
    return Probe(
        value=value,
        verdict=Verdict.met if met else Verdict.not_met,
        reason=f"goodput over offered {goodput:.4f} {'>=' if met else '<'} {share:g}",
        goodput=goodput,
    )


def _problem(
    reading: Mapping[str, Any] | None, *, state: str, reason: str, client_limits: list[str] | None
) -> str | None:
    if state != "sealed":
        return f"the run ended as {state}: {reason}"
    if reading is None:
        return f"the bundle was not read: {reason}"
    if client_limits:
        return f"client limited: {client_limits[0]}"
    return _unsteady(reading)


def _unsteady(reading: Mapping[str, Any]) -> str | None:
    """The reading's own words where rates had no steady window."""
    for window in reading.get("windows") or ():
        for words in (window.get("absent"), window.get("chosen")):
            if words and NO_STEADY_STATE in words:
                return str(words)
        if window.get("absent"):
            return str(window["absent"])
    return next(
        (
            str(a["absent"])
            for a in reading.get("aggregates") or ()
            if a.get("absent") and NO_STEADY_STATE in a["absent"]
        ),
        None,
    )


def _goodput(reading: Mapping[str, Any]) -> tuple[float | None, str]:
    for aggregate in reading.get("aggregates") or ():
        if aggregate["rule"] == GOODPUT and aggregate["statistic"] == "ratio":
            return aggregate.get("value"), str(aggregate.get("absent"))
    return None, "no SLO was declared"
