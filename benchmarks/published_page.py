"""The comparison with published measurements as a page: one table for each question it answers."""

from assay.analysis.published.documents import Comparison, RowResult
from assay.analysis.published.rows import Published
from benchmarks import published_sections as sections
from benchmarks.markdown_cells import ms, table, with_error

HEAD = """# Published measurements, bounds and estimates

Measured by others, under the conditions they state; none of these figures is ours. Written by
`PYTHONPATH=platform:. python benchmarks/published_measurements.py` from
`tests/data/published/measurements.yaml`, which holds every row with its source, conditions and class;
`assay.archive.published` reads the same for programs. The configurations are those of
`experiments/models`.

Class **A**: raw data are public, or a micro-benchmark of fixed shape. **B**: an aggregate with all
conditions stated. **C**: something that matters is missing, or its authors call it experimental.

* A **bound** is the serial sum, over the operators of one rank, of the larger of FLOPs / rated peak and
  bytes / rated bandwidth, without messages and activations. No measured time may lie below it.
* An **estimate** is a sum of named parameters, each inside a stated interval. No factor scales a whole
  step.
* Errors are (estimate - measured) / measured, as public tools state theirs; elsewhere in Assay a residual
  is relative to the prediction.
"""
BOUNDS = """
## Bounds

The published sanity bound is (matrices, and in section B the stored K/V) / (devices x rated bandwidth).
Ours also counts the K/V of section A and C, the written K/V, the looked-up rows of the input table, K/V
heads and routers as they are replicated on each rank, and operators that the matrix peak bounds. It leaves
out messages, as theirs does. Experts count as the union expected under independent uniform routing. Where
the source states no batch, the largest one that fits the device is taken, which no smaller one can beat.
"""
ESTIMATES = """
## Estimates

Fitted on rows of class A and B whose batch and context are known. *Without its model*: every row of that
model was left out of the fit. *Without its section*: every row of that source was. `calibrated` means that
the fit without the model has rows of that device, engine and parallelism around this batch and context;
else the table says what lies beyond. Rows that are *checked* enter no fit at all.
"""


def page(published: Published, comparison: Comparison) -> str:
    """The whole page, in Markdown."""
    rows = comparison["rows"]
    timed = [row for row in rows if row["bound_s"] is not None]
    parts = [
        HEAD,
        BOUNDS,
        table(BOUND_COLUMNS, (_bound_cells(row) for row in timed)),
        ESTIMATES,
        table(ESTIMATE_COLUMNS, (_estimate_cells(row) for row in rows if row["estimates"])),
        sections.errors(comparison),
        sections.largest(comparison),
        sections.yardsticks(published),
        sections.parameters(comparison),
        sections.first_tokens(rows),
        sections.granted(comparison),
        sections.claims(comparison),
        sections.limits(comparison, rows),
        sections.sources(published),
    ]
    return "\n".join(parts)


BOUND_COLUMNS = (
    "row", "class", "model", "devices", "format", "batch", "context", "measured ms", "bound ms",
    "bound / measured", "published bound ms", "verdict",
)  # fmt: skip
ESTIMATE_COLUMNS = (
    "row", "used", "measured ms", "before any fit", "all rows", "without its model", "without its section",
    "validity", "largest parts",
)  # fmt: skip


def _bound_cells(row: RowResult) -> tuple[str, ...]:
    ratio = row["bound_over_measured"]
    return (
        row["id"],
        row["quality"],
        row["model"],
        f"{row['device']}, {row['layout']}",
        row["precision"] or "not stated",
        _batch(row),
        "not stated" if row["context_tokens"] is None else str(row["context_tokens"]),
        ms(row["measured_s"]),
        ms(row["bound_s"]),
        "" if ratio is None else f"{ratio:.2f}",
        ms(row["published_bound_s"]),
        row["verdict"] or "",
    )


def _batch(row: RowResult) -> str:
    if row["batch"] is not None:
        return str(row["batch"])
    return "prompts" if row["judged"] == "prefill_rate" else "largest that fits"


def _estimate_cells(row: RowResult) -> tuple[str, ...]:
    found = row["estimates"]
    assert found is not None
    parts = list(found["shares"].items())[:3]
    return (
        row["id"],
        row["used"],
        ms(row["measured_s"]),
        with_error(found["before_any_fit_s"], found["before_any_fit_error"]),
        with_error(found["all_rows_s"], found["all_rows_error"]),
        with_error(found["model_left_out_s"], found["model_left_out_error"]),
        with_error(found["section_left_out_s"], found["section_left_out_error"]),
        ": ".join(filter(None, (found["validity"], ", ".join(found["beyond"])))),
        ", ".join(f"{name} {share:.0%}" for name, share in parts),
    )
