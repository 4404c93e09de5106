"""What a request and an output token cost by a price that somebody declared; without one, nothing is said.

A price by the hour is charged for the whole window, busy or idle, for every declared device; a price by
energy for all that was metered, which leaves out fans, memory and power supply.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.analysis.absence import Absent
from assay.analysis.aggregates import Scope, aggregate
from assay.analysis.documents import Aggregate
from assay.analysis.energy.drawn import Drawn
from assay.analysis.energy.window_output import (
    WindowOutput,
    by_request,
    by_token,
    reasons_of,
    value_of,
)
from assay.analysis.resources.documents import CostRow
from assay.analysis.window import Window
from experiments.schema.device import PricedBy

NO_PRICE = "no price is declared (device.price)"
_J_PER_KWH = 3.6e6
_S_PER_H = 3600.0


def cost_of(
    price: Mapping[str, Any] | None,
    *,
    devices: int,
    metered: Sequence[Drawn],
    window: Window | Absent,
) -> float | Absent:
    """Of the whole window, in the price's own currency."""
    if price is None:
        return Absent(NO_PRICE)
    if isinstance(window, Absent):
        return window
    amount = float(price["amount"])
    if price["per"] == PricedBy.device_hour:
        return amount * devices * window.length_s / _S_PER_H
    if not metered:
        return Absent("the price is by energy, and no meter was read")
    return amount * sum(seen.total_j for seen in metered) / _J_PER_KWH


def cost_row(price: Mapping[str, Any] | None, total: float | Absent, out: WindowOutput) -> CostRow:
    request, token = by_request(total, out), by_token(total, out)
    return CostRow(
        price=None if price is None else dict(price),
        currency=None if price is None else str(price["currency"]),
        total=value_of(total),
        per_request=value_of(request),
        per_output_token=value_of(token),
        reasons=reasons_of({"total": total, "per_request": request, "per_output_token": token}),
    )


def cost_aggregates(
    currency: str, total: float | Absent, out: WindowOutput, scope: Scope
) -> Iterator[Aggregate]:
    for rule, statistic, value, n in (
        ("cost.total", "total", total, out.requests),
        ("cost.per_request", "ratio", by_request(total, out), out.requests),
        ("cost.per_output_token", "ratio", by_token(total, out), out.attempts_with_tokens),
    ):
        yield aggregate(rule, statistic, currency, value, n=n, of=out.attempts, scope=scope)
