"""The recorded results of real load clients."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.analysis.compat.rows import Span, ToolRow
from assay.analysis.quantities import NS_PER_S

FOLDER = Path(__file__).parents[3] / "data" / "foreign"
FILES = {
    "vllm_bench": FOLDER / "vllm_bench" / "result.json",
    "aiperf": FOLDER / "aiperf" / "profile_export.jsonl",
    "guidellm": FOLDER / "guidellm" / "report.json",
    "sglang_bench": FOLDER / "sglang_bench" / "result.jsonl",
    "mlperf_loadgen": FOLDER / "mlperf_loadgen" / "mlperf_log_detail.txt",
}


def sglang_rows() -> tuple[Sequence[ToolRow], Span]:
    """What SGLang's client held in memory when it computed its summary; its file has no starts and ends."""
    outputs: list[dict[str, Any]] = json.loads(
        (FOLDER / "sglang_bench" / "outputs.json").read_bytes()
    )
    length = json.loads(FILES["sglang_bench"].read_text())["duration"]
    first = min(o["start_time"] for o in outputs)
    rows = [
        ToolRow(
            ok=o["success"],
            start_ns=_ns(o["start_time"] - first),
            times_ns=np.round(
                np.cumsum([o["start_time"] - first + o["ttft"], *o["itl"]]) * NS_PER_S
            ).astype(np.int64),
            end_ns=_ns(o["start_time"] - first + o["latency"]),
            prompt_tokens=o["prompt_len"],
            output_tokens=o["output_len"],
        )
        for o in outputs
    ]
    return rows, Span(from_ns=0, to_ns=_ns(length))


def _ns(t_s: float) -> int:
    return round(t_s * NS_PER_S)
