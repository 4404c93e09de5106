"""The public clients whose numbers are computed beside ours: a literal table, key to column."""

from collections.abc import Callable
from dataclasses import dataclass

from assay.analysis.compat import aiperf, guidellm, seen, sglang_bench, vllm_bench
from assay.analysis.compat.figures import Figure
from assay.analysis.compat.rows import Span, ToolRows


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One tool: how it is called, how it reads attempts, and its formulas over all of them."""

    key: str
    title: str
    read: Callable[[seen.Recorded], ToolRows]
    figures: Callable[[ToolRows, Span | None], list[Figure]]


_COLUMNS = (
    Column(
        key="vllm_bench",
        title="vllm bench serve",
        read=seen.by_vllm_bench,
        figures=vllm_bench.figures,
    ),
    Column(key="aiperf", title="AIPerf", read=seen.by_aiperf, figures=aiperf.figures),
    Column(key="guidellm", title="GuideLLM", read=seen.by_guidellm, figures=guidellm.figures),
    Column(
        key="sglang_bench",
        title="SGLang bench_serving",
        read=seen.by_sglang_bench,
        figures=sglang_bench.figures,
    ),
)
COLUMNS: dict[str, Column] = {column.key: column for column in _COLUMNS}
