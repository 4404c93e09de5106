"""One row of a predictions document. Every row names its layer, validity and what would overturn it."""

from collections.abc import Sequence
from typing import Any

from assay.analysis.devices.machine import Interval
from runners.protocol.documents import Prediction

WORK, CAPACITY, TIME = "work", "capacity", "time"
ENGINE_LOOP, CLIENT = "engine_loop", "client_socket"
SLOPE = "decode_s_per_stored_token"  # the registered slope of a decode step over its stored tokens


def exact_row(
    quantity: str,
    kind: str,
    value: float,
    unit: str,
    *,
    layer: str,
    conditions: dict[str, Any],
    overturned_by: str,
    validity: str,
    parameters: Sequence[str] = (),
) -> Prediction:
    """A count that follows from configuration alone: its range is the value itself."""
    return Prediction(
        quantity=quantity,
        kind=kind,
        conditions=conditions,
        bound=None,
        estimate=float(value),
        range=None,
        coverage=None,
        unit=unit,
        layer=layer,
        memory_level=None,
        validity=validity,
        parameters=list(parameters),
        overturned_by=overturned_by,
    )


def range_row(
    quantity: str,
    kind: str,
    estimate: Interval | None,
    unit: str,
    *,
    bound: float | None,
    coverage: float,
    layer: str,
    memory_level: str | None,
    conditions: dict[str, Any],
    validity: str,
    parameters: Sequence[str],
    overturned_by: str,
) -> Prediction:
    """A quantity with a bound and an expected range; the range never reaches below the bound.

    The ends are those of the parameters' spreads. ``coverage`` is what the range claims, not what it has been
    seen to hold: held-out coverage is reported beside it.
    """
    value: float | None = None
    low_high: list[float] | None = None
    if estimate is not None:
        floor = bound or 0.0
        value = max(floor, estimate.value)
        low_high = [max(floor, estimate.low), max(floor, estimate.high)]
    return Prediction(
        quantity=quantity,
        kind=kind,
        conditions=conditions,
        bound=bound,
        estimate=value,
        range=low_high,
        coverage=coverage if low_high else None,
        unit=unit,
        layer=layer,
        memory_level=memory_level if bound is not None else None,
        validity=validity,
        parameters=list(parameters),
        overturned_by=overturned_by,
    )
