"""Figures of a tool's own summary."""

from collections.abc import Iterable, Mapping
from typing import Any

from assay.analysis.compat.figures import LINEAR, QUANTILES, Figure
from assay.archive.foreign import fields

_STATISTICS = {"mean": "mean", "p50": "median", "p90": "p90", "p95": "p95", "p99": "p99"}
_RATES = {
    "throughput.requests": "request_throughput",
    "throughput.output_tokens": "output_throughput",
}


def bench_summary(
    document: Mapping[str, Any], *, latencies: Mapping[str, str], total_tokens: str
) -> list[Figure]:
    """Latencies and rates that the results of vLLM's and SGLang's clients state in the same way.

    ``latencies`` maps a quantity to the tool's word for it, ``total_tokens`` is that for the rate of all
    tokens.
    """
    n = fields.count(document.get("completed"), "completed") or 0
    rates = _RATES | {"throughput.total_tokens": total_tokens}
    return told(
        [
            *(
                figure(
                    quantity, statistic, in_ms(document.get(f"{key}_{name}_ms")), n=n, rule=LINEAR
                )
                for quantity, name in latencies.items()
                for statistic, key in _STATISTICS.items()
            ),
            *(
                figure(quantity, "rate", fields.number(document.get(key)), n=n)
                for quantity, key in rates.items()
            ),
        ]
    )


def told(figures: Iterable[Figure | None]) -> list[Figure]:
    """Those that the summary has."""
    return [f for f in figures if f is not None]


def figure(
    quantity: str, statistic: str, value: float | None, *, n: int, rule: str | None = None
) -> Figure | None:
    """A figure as the tool reported it, or None where its summary has none."""
    if value is None:
        return None
    return Figure(
        quantity=quantity,
        statistic=statistic,
        value=value,
        n=n,
        percentile_rule=rule if statistic in QUANTILES else None,
    )


def in_ms(value: object) -> float | None:
    """A summary's ms as s."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) / 1e3
