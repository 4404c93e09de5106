"""Our formulas over each tool's own requests give its own printed summary, to its clock's rounding."""

from collections.abc import Sequence

import pytest

from assay.analysis.absence import Absent
from assay.analysis.compat.figures import Figure
from assay.analysis.compat.rows import in_columns
from assay.analysis.compat.table import COLUMNS
from assay.archive.foreign.table import read_result
from tests.assay.archive.foreign.results import FILES, sglang_rows

# A double holds a wall clock of 1.8e9 s to 2.4e-7 s; the two clients that stamp it with one print no better.
CLOCK_S = 3e-7
QUANTITIES = {
    "vllm_bench": {"ttft", "tpot", "itl", "e2e", "concurrency", "failed"},
    "aiperf": {"ttft", "tpot", "itl", "e2e", "failed"},
    "guidellm": {"ttft", "tpot", "tpot.with_first", "e2e", "concurrency", "failed"},
    "sglang_bench": {"ttft", "tpot", "itl", "e2e", "concurrency"},
}
RATES = {"throughput.requests", "throughput.output_tokens", "throughput.total_tokens"}


def summary_and_own(tool: str) -> tuple[Sequence[Figure], dict[tuple[str, str], Figure]]:
    """The tool's printed figures, and ours over the same requests and the same length of time."""
    result = read_result(FILES[tool]).result
    rows, span = [call.row for call in result.calls], result.span
    if tool == "sglang_bench":
        rows, span = list(sglang_rows()[0]), sglang_rows()[1]
    own = COLUMNS[tool].figures(in_columns(rows), span)
    return result.reported, {(f.quantity, f.statistic): f for f in own}


@pytest.mark.req("6.10")
@pytest.mark.parametrize("tool", COLUMNS)
def test_a_column_equals_the_printed_summary(tool: str) -> None:
    printed, own = summary_and_own(tool)

    assert {f.quantity for f in printed} == QUANTITIES[tool] | RATES
    for figure in printed:
        ours = own[figure.quantity, figure.statistic]
        assert not isinstance(ours.value, Absent), figure
        assert ours.value == pytest.approx(figure.value, rel=1e-6, abs=CLOCK_S), figure
        assert ours.n == figure.n or figure.quantity in {"itl", "tpot", "tpot.with_first"}
        assert ours.percentile_rule == figure.percentile_rule


@pytest.mark.parametrize("tool", COLUMNS)
def test_each_quantity_has_its_five_statistics_in_the_summary(tool: str) -> None:
    printed, _ = summary_and_own(tool)

    timed = [f for f in printed if f.quantity in {"ttft", "tpot", "e2e"}]
    assert {f.statistic for f in timed} == {"mean", "p50", "p90", "p95", "p99"}
    assert len(timed) == 15
