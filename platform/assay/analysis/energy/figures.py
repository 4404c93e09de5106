"""What a request and an output token took of energy: a row by meter, and their aggregates; cost beside them.

Without a meter there is no energy: null, with the reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.analysis.absence import Absent
from assay.analysis.aggregates import Scope, aggregate
from assay.analysis.documents import Aggregate
from assay.analysis.energy.cost import cost_aggregates, cost_of, cost_row
from assay.analysis.energy.drawn import Drawn, Meter, drawn
from assay.analysis.energy.window_output import (
    WindowOutput,
    by_request,
    by_token,
    reasons_of,
    value_of,
    window_output,
)
from assay.analysis.rates import in_window
from assay.analysis.resources.documents import CostRow, EnergyRow, ResourceReading
from assay.analysis.resources.readings import Reading
from assay.analysis.window import Window, in_flight_steps
from assay.analysis.wire.attempt import Attempt

LABELS: Mapping[Meter, str] = {
    Meter.accelerator: "accelerator boards",
    Meter.cpu_package: "processor packages",
}
RULES: Mapping[Meter, str] = {
    Meter.accelerator: "energy.accelerator",
    Meter.cpu_package: "energy.cpu_package",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Metering:
    """Readings of meters that a run kept, why a meter is absent, the declared price and how many devices."""

    readings: Sequence[Reading]
    absent: Mapping[Meter, str]
    price: Mapping[str, Any] | None
    devices: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyFigures:
    energy: list[EnergyRow]
    cost: CostRow
    aggregates: list[Aggregate]


def energy_figures(
    metering: Metering, attempts: Sequence[Attempt], window: Window | Absent, scope: Scope
) -> EnergyFigures:
    """Every meter and the cost over the load window; aggregates only of what was metered or priced."""
    out = window_output(attempts, window)
    seen = {meter: _drawn(metering, meter, attempts, window) for meter in Meter}
    metered = [found for found in seen.values() if isinstance(found, Drawn)]
    cost = cost_of(metering.price, devices=metering.devices, metered=metered, window=window)
    named = in_window(window, f"energy of the whole window, {scope.population}", scope)
    aggregates = [entry for found in metered for entry in _aggregates(found, out, named)]
    if metering.price is not None:
        said = replace(named, population=f"price of the whole window, {scope.population}")
        aggregates += cost_aggregates(str(metering.price["currency"]), cost, out, said)
    if isinstance(window, Window):
        for entry in aggregates:
            entry["window_ns"] = [window.from_ns, window.to_ns]
    return EnergyFigures(
        energy=[_row(meter, found, out) for meter, found in seen.items()],
        cost=cost_row(metering.price, cost, out),
        aggregates=aggregates,
    )


def _drawn(
    metering: Metering, meter: Meter, attempts: Sequence[Attempt], window: Window | Absent
) -> Drawn | Absent:
    if isinstance(window, Absent):
        return window
    if not any(reading.subject.startswith(meter.prefixes) for reading in metering.readings):
        return Absent(metering.absent.get(meter, f"no reading of {LABELS[meter]} was kept"))
    span = (window.from_ns, window.to_ns)
    return drawn(metering.readings, meter, span, in_flight_steps(attempts))


def _row(meter: Meter, seen: Drawn | Absent, out: WindowOutput) -> EnergyRow:
    total: float | Absent = seen if isinstance(seen, Absent) else seen.total_j
    request, token, share = by_request(total, out), by_token(total, out), _idle_share(seen)
    known = seen if isinstance(seen, Drawn) else None
    return EnergyRow(
        meter=LABELS[meter],
        devices=list(known.devices) if known else [],
        counted_by=known.counted_by if known else None,
        window_s=known.window_s if known else None,
        total_j=value_of(total),
        idle_j=known.idle_j if known else None,
        idle_share=value_of(share),
        requests=out.requests,
        output_tokens=None if isinstance(out.tokens, Absent) else out.tokens,
        per_request_j=value_of(request),
        per_output_token_j=value_of(token),
        reasons=reasons_of(
            {"total_j": total, "per_request_j": request, "per_output_token_j": token}
        ),
    )


def _idle_share(seen: Drawn | Absent) -> float | Absent:
    if isinstance(seen, Absent):
        return seen
    return seen.idle_j / seen.total_j if seen.total_j > 0 else Absent("nothing was drawn")


def _aggregates(seen: Drawn, out: WindowOutput, scope: Scope) -> Iterator[Aggregate]:
    total, rule = seen.total_j, RULES[seen.meter]
    for name, statistic, unit, value, n in (
        ("total", "total", "J", total, out.requests),
        ("per_request", "ratio", "J", by_request(total, out), out.requests),
        ("per_output_token", "ratio", "J", by_token(total, out), out.attempts_with_tokens),
        ("idle_share", "ratio", "1", _idle_share(seen), out.requests),
    ):
        yield aggregate(f"{rule}.{name}", statistic, unit, value, n=n, of=out.attempts, scope=scope)


def with_energy(
    resources: ResourceReading | None,
    metering: Metering | None,
    attempts: Sequence[Attempt],
    window: Window | Absent,
    scope: Scope,
) -> tuple[ResourceReading | None, list[Aggregate]]:
    """The resources of a run with its energy and cost, and the aggregates of both."""
    if resources is None or metering is None:
        return resources, []
    found = energy_figures(metering, attempts, window, scope)
    return {**resources, "energy": found.energy, "cost": found.cost}, found.aggregates
