"""The published page below its two long tables: errors, parameters, grants, claims and limits."""

from collections.abc import Sequence

from assay.analysis.device_estimate.parameters import FIT, KNOWN
from assay.analysis.published.comparison import BOUND_ALONE
from assay.analysis.published.documents import Comparison, RowResult
from assay.analysis.published.rows import Published
from benchmarks.markdown_cells import ms, percent, table, with_error
from runners.protocol.documents import Parameter

NAMES_OF_ERRORS = {
    BOUND_ALONE: "the bound, taken for an estimate (which it is not)",
    "before_any_fit": "parameters before any fit",
    "all_rows": "fitted on all rows (in sample)",
    "model_left_out": "without its model",
    "section_left_out": "without its section",
}


def errors(comparison: Comparison) -> str:
    columns = ("estimates", "rows", "median", "90th percentile", "worst", "row")
    named = [*((NAMES_OF_ERRORS[kind], found) for kind, found in comparison["errors"].items())]
    named += [
        (f"section {section}, without its model", found)
        for section, found in comparison["errors_by_section"].items()
    ]
    cells = (
        (name, str(e["n"]), percent(e["median"]), percent(e["p90"]), percent(e["worst"]), e["worst_row"])
        for name, e in named
    )  # fmt: skip
    return "## Errors of the fitted rows\n\n" + table(columns, cells)


NOTES: dict[tuple[str, ...], str] = {
    (
        "D1",
    ): "reading experts is half of the estimate. 102 of 256 a layer are expected under uniform routing; "
    "skewed routing reads fewer. The row does not say whether tokens were predicted in advance (MTP)",
    (
        "D5",
    ): "answers have 128 tokens, so that prompts are a large part of a mean step; how they were cut is "
    "not stated",
    ("C2", "C3"): "later turns store more than the first, which is not published",
    ("C4.rate5", "C4.rate10"): "twice the rate adds 0.72 ms, where prompts alone should add more",
    (
        "B1",
    ): "128 messages of 1.3 MB a step between cards without direct access, and the only large batch on "
    "such cards",
    ("B5",): "two ticks, and the only row of its card",
    (
        "E12.minimax4",
        "E12.minimax16",
        "E12.minimax64",
    ): "its authors call it work in progress, with warm-up or "
    "compilation inside other points; checked, never fitted",
}


def largest(comparison: Comparison) -> str:
    """What is known about the largest errors, each with its figure of now."""
    errors = {
        row["id"]: row["estimates"]["model_left_out_error"]
        for row in comparison["rows"]
        if row["estimates"]
    }
    cells = (
        (", ".join(ids), ", ".join(f"{errors[id_]:+.0%}" for id_ in ids), note)
        for ids, note in NOTES.items()
    )
    return (
        "## The largest errors\n\nNone of these has evidence that would settle it, so they are unexplained. "
        "What was changed after a first fit is said below, under what cannot be judged.\n\n"
        + table(("rows", "error without the model", "what is known"), cells)
    )


def yardsticks(published: Published) -> str:
    cells = ((y["tool"], y["claim"], y["data"], y["by"]) for y in published.yardsticks)
    return (
        "## What others publish of their own errors\n\nFor orientation only: other rows, other conditions, "
        "and mostly unsaid which runs were used to fit.\n\n"
        + table(("tool", "claim", "on", "who says so"), cells)
    )


def parameters(comparison: Comparison) -> str:
    cells = (
        (
            f"`{p['name']}`",
            f"{p['value']:.3g}",
            p["unit"],
            p["source"],
            f"{KNOWN[p['name']].value:.3g} ({KNOWN[p['name']].source})",
            f"{KNOWN[p['name']].low:.3g} to {KNOWN[p['name']].high:.3g}",
            _spread(p) if p["source"] == FIT else "",
            f"{KNOWN[p['name']].scope}: {KNOWN[p['name']].reason}",
        )
        for p in comparison["parameters"]
    )  # fmt: skip
    columns = (
        "parameter", "value", "unit", "source", "before", "interval",
        "over fits that left a group out", "what it is for, and why",
    )  # fmt: skip
    pairs = "; ".join(comparison["inseparable"]) or "none"
    return (
        "## Parameters\n\nRatios are rated over sustained. Rated figures (peaks, link bandwidths) are "
        "specifications of the catalogue.\n\n"
        + table(columns, cells)
        + f"\nPairs of which these rows know the sum only: {pairs}.\n"
    )


def _spread(parameter: Parameter) -> str:
    low, high = parameter["spread"] or [parameter["value"]] * 2
    return f"{low:.3g} to {high:.3g}"


def first_tokens(rows: Sequence[RowResult]) -> str:
    cells = (
        (row["id"], row["model"], ms(row["ttft_s"]), with_error(estimate, estimate / measured - 1))
        for row in rows
        if (estimate := row["ttft_estimate_s"]) and (measured := row["ttft_s"])
    )  # fmt: skip
    return (
        "## Time to the first token\n\nOnly section C states enough: an open loop that the service keeps up "
        "with. The estimate is one prompt alone, half a step of waiting and `front_s`, by parameters fitted "
        "on steps only and without the row's model. Closed loops (D, E12) start all prompts at once, and "
        "runs that saturate (B) queue.\n\n"
        + table(("row", "model", "measured ms", "estimate ms"), cells)
    )


def granted(comparison: Comparison) -> str:
    cells = (
        (
            g["id"],
            str(g["granted_blocks"]),
            str(g["estimated_blocks"]),
            f"{g['error']:+.2%}",
            f"{g['implied_remainder_bytes'] / 1e9:.3f}",
        )
        for g in comparison["granted"]
    )
    return (
        "## Granted KV blocks\n\nFrom the configuration, the card's total, the utilization and one stated "
        "remainder of 1.3 GB for peak activation and non-torch memory.\n\n"
        + table(("row", "granted", "estimated", "error", "remainder the grant implies, GB"), cells)
    )


def claims(comparison: Comparison) -> str:
    cells = (
        (
            c["id"],
            f"{c['claimed_tokens_per_s']:g}",
            c["verdict"],
            c["reason"],
            ms(c["bound_s"]),
            f"{c['tokens_per_s_at_most']:.1f}",
            "; ".join(c["conditions"][:3]),
        )
        for c in comparison["claims"]
    )
    columns = (
        "row",
        "claimed token/s",
        "verdict",
        "why",
        "bound ms",
        "token/s at most",
        "conditions",
    )
    return (
        "## A claim that does not hold\n\nThe same check is `assay predict --claim-tokens-per-s` or "
        "`--claim-step-ms`. The page may mean several cards or another format; it does not say so.\n\n"
        + table(columns, cells)
    )


def limits(comparison: Comparison, rows: Sequence[RowResult]) -> str:
    lines = [f"* {line}" for line in comparison["assumptions"]]
    short = [row for row in rows if row["reason"]]
    stands_for = [row for row in rows if row["config_reason"] or row["device_reason"]]
    return "\n".join(
        [
            "## What cannot be judged, and what the figures rest on\n",
            *lines,
            "",
            table(
                ("row", "used as", "why no more"),
                ((r["id"], r["used"], r["reason"] or "") for r in short),
            ),
            "Configurations and devices that stand for others:\n",
            table(
                ("row", "published", "taken", "why"),
                (
                    (
                        r["id"],
                        r["model"],
                        f"`{r['config']}`",
                        "; ".join(filter(None, (r["config_reason"], r["device_reason"]))),
                    )
                    for r in stands_for
                ),
            ),
        ]
    )  # fmt: skip


def sources(published: Published) -> str:
    cells = (
        (name, source.title, source.version or "not stated", source.conditions)
        for name, source in published.sources.items()
    )
    return "## Sources\n\n" + table(("source", "what", "version", "conditions"), cells)
