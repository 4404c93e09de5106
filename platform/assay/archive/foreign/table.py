"""The tools whose results can be imported, how their files are told apart, and how each is read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.analysis.errors import BadRecord
from assay.archive.foreign import aiperf, fields, guidellm, mlperf_loadgen, sglang_bench, vllm_bench
from assay.archive.foreign.result import ForeignResult

TITLES = {
    "vllm_bench": "vllm bench serve",
    "aiperf": "AIPerf",
    "guidellm": "GuideLLM",
    "sglang_bench": "SGLang bench_serving",
    "mlperf_loadgen": "MLPerf LoadGen",
}
_ALLOWED = (
    "vllm bench serve --save-result JSON, AIPerf profile_export.jsonl or profile_export_aiperf.json, "
    "GuideLLM JSON, SGLang bench_serving JSONL, MLPerf mlperf_log_detail.txt"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A result and the files it was read from, which an archive keeps whole."""

    result: ForeignResult
    files: Sequence[Path]


def read_result(path: Path, *, tool: str | None = None, part: int | None = None) -> Found:
    """Read a result file. ``tool`` says whose it must be; ``part`` chooses one of several results in it.

    Raises BadRecord, with nothing written.
    """
    found = _read(path, part)
    if tool is not None and found.result.tool != tool:
        fields.refuse(
            "--from", tool, f"{found.result.tool}, which {path.name} is", "Name that tool, or none."
        )
    return found


def _read(path: Path, part: int | None) -> Found:
    if _first_bytes(path).startswith(mlperf_loadgen.MARK.encode()):
        return Found(result=mlperf_loadgen.read(_text_lines(path)), files=[path])
    if path.suffix == ".jsonl":
        return _read_lines(path, part)
    document = fields.whole(path)
    if vllm_bench.recognises(document):
        return Found(result=vllm_bench.read(document), files=[path])
    if aiperf.recognises_summary(document):
        return Found(result=aiperf.read_summary(document), files=[path])
    if guidellm.recognises(document):
        chosen = _chosen(guidellm.benchmarks(document), part, path)
        return Found(result=guidellm.read(document, chosen), files=[path])
    raise _unknown(path, document)


def _read_lines(path: Path, part: int | None) -> Found:
    rows = list(fields.lines(path))
    head = rows[0][1] if rows else None
    if aiperf.recognises(head):
        beside = path.with_name(aiperf.SUMMARY)
        if not beside.is_file():
            return Found(result=aiperf.read_records(rows, None), files=[path])
        summary = fields.an_object(fields.whole(beside), beside.name)
        return Found(result=aiperf.read_records(rows, summary), files=[path, beside])
    if sglang_bench.recognises(head):
        chosen = _chosen([row for _, row in rows], part, path)
        return Found(result=sglang_bench.read(chosen), files=[path])
    raise _unknown(path, head)


def _chosen(parts: Sequence[Any], part: int | None, path: Path) -> Any:
    """One result of those in a file; several need to be told apart by a number from 1."""
    n = len(parts)
    if part is None and n == 1:
        return parts[0]
    if part is None or not 1 <= part <= n:
        seen = f"{path.name} holds {n} results" if part is None else str(part)
        fields.refuse("--part", seen, f"1 to {n}" if n else "a result", "Choose one by its number.")
    return parts[part - 1]


def _unknown(path: Path, document: Any) -> BadRecord:
    keys = ", ".join(sorted(map(str, document))[:6]) if isinstance(document, dict) else "no object"
    return BadRecord(
        field=path.name,
        seen=f"members {keys}"[:200],
        allowed=_ALLOWED,
        remedy="Give a result file of one of these tools.",
    )


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(64)


def _text_lines(path: Path) -> Iterator[tuple[int, str]]:
    for number, line in fields.raw_lines(path):
        yield number, line.decode("utf-8", "replace")
