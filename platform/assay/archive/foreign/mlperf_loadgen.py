"""The detail log of MLPerf LoadGen (``mlperf_log_detail.txt``): ``:::MLLOG`` lines with the run's results.

It holds no record of single queries, so that nothing can be computed again: every figure is the log's own.
"""

import json
from collections.abc import Iterable
from typing import Any

from assay.analysis.compat.figures import Figure
from assay.archive.foreign import fields
from assay.archive.foreign.result import ForeignResult
from assay.archive.foreign.summary import figure

MARK = ":::MLLOG "
_RULE = "as MLPerf LoadGen"
_NS = 1e9
# Keys in the order of "mean, p50, p90, p95, p99".
_LATENCIES = {
    "e2e": ("result_mean_latency_ns", "result_{q}_percentile_latency_ns"),
    "ttft": (
        "result_first_token_mean_latency_ns",
        "result_first_token_{q}_percentile_latency_ns",
    ),
    "tpot": (
        "result_time_to_output_token_mean",
        "result_time_per_output_token_{q}_percentile_ns",
    ),
}
_QUANTILES = {"p50": "50.00", "p90": "90.00", "p95": "95.00", "p99": "99.00"}


def read(text_lines: Iterable[tuple[int, str]]) -> ForeignResult:
    facts = _facts(text_lines)
    if "loadgen_version" not in facts:
        fields.refuse(
            "loadgen_version", "missing", "a detail log of LoadGen", "Give mlperf_log_detail.txt."
        )
    n = fields.count(facts.get("result_query_count"), "result_query_count") or 0
    if not n:
        fields.refuse(
            "result_query_count",
            repr(facts.get("result_query_count")),
            "a run in performance mode that came to its results",
            "Give the log of a finished performance run.",
        )
    return ForeignResult(
        tool="mlperf_loadgen",
        version=fields.text(facts.get("loadgen_version")),
        model=fields.text(facts.get("sut_name")),
        calls=(),
        span=None,
        reported=_reported(facts, n),
        has_starts=False,
        clock="LoadGen's own",
    )


def _facts(text_lines: Iterable[tuple[int, str]]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for line, text in text_lines:
        if not text.startswith(MARK):
            continue
        try:
            row = json.loads(text[len(MARK) :])
        except (ValueError, RecursionError) as error:
            fields.refuse(
                f"line {line}", str(error)[:120], "an MLLOG line", "Give the log as written."
            )
        if isinstance(row, dict) and isinstance(row.get("key"), str):
            facts[row["key"]] = row.get("value")
    return facts


def _reported(facts: dict[str, Any], n: int) -> list[Figure]:
    found = []
    for quantity, (mean, percentile) in _LATENCIES.items():
        keys = {"mean": mean} | {s: percentile.format(q=q) for s, q in _QUANTILES.items()}
        for statistic, key in keys.items():
            value = fields.number(facts.get(key))
            scaled = None if value is None else value / _NS
            found.append(figure(quantity, statistic, scaled, n=n, rule=_RULE))
    for quantity, key in (
        ("throughput.requests", "result_completed_samples_per_sec"),
        ("throughput.output_tokens", "result_completed_tokens_per_second"),
    ):
        found.append(figure(quantity, "rate", fields.number(facts.get(key)), n=n))
    return [f for f in found if f is not None]
