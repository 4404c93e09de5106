"""The plan of one run, made whole before anything starts: every request with its prompt, time and limits.

Rows follow ``runners.protocol.tables.PLAN`` and ``PROMPTS``. The plan digest is the sha256 of the canonical
JSON of the plan rows, which hold the hash of every prompt's token ids.
"""

import hashlib
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from runners.load import arrivals
from runners.load.prompts import InputEncoder, Prompt, PromptWriter
from runners.protocol import layout
from runners.protocol.events import Phase, Segment
from runners.protocol.manifest import canonical
from runners.protocol.tables import PLAN, PROMPTS

SAMPLING_SEEDS = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class Materialised:
    """``summary``: segment -> requests, input and output tokens (caps), and the shapes it is made of."""

    plan: tuple[dict[str, Any], ...]
    prompts: tuple[dict[str, Any], ...]
    digest: str
    summary: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    """One request before it has a place in the plan."""

    segment: Segment
    prompt: Prompt
    output_cap: int
    case: str | None = None
    offset_ns: int | None = None
    slot: int | None = 0
    cancel: Mapping[str, Any] | None = None


def materialise(
    document: Mapping[str, Any],
    encoder: InputEncoder,
    *,
    tokenizer_sha256: str,
    chat_template_sha256: str,
) -> Materialised:
    """Every request of a run spec. Raises Refused if a prompt cannot have its declared length."""
    workload = document["workload"]
    asks = list(_asks(document, encoder))
    seeds = random.Random(int(workload["seed"])).random
    rows = [
        _row(sequence, ask, number, workload, int(seeds() * SAMPLING_SEEDS))
        for sequence, (ask, number) in enumerate(_numbered(asks))
    ]
    prompts = {
        ask.prompt.ref: {
            "prompt_ref": ask.prompt.ref,
            "messages": canonical(ask.prompt.messages).decode("utf-8"),
            "expanded": ask.prompt.expanded,
            "token_ids": list(ask.prompt.token_ids),
            "tokenizer_sha256": tokenizer_sha256,
            "chat_template_sha256": chat_template_sha256,
        }
        for ask in asks
    }
    return Materialised(
        plan=tuple(rows),
        prompts=tuple(prompts.values()),
        digest=plan_digest(rows),
        summary=summary(rows),
    )


def plan_digest(rows: list[dict[str, Any]]) -> str:
    """sha256 (hex) of the canonical JSON of the plan rows in order."""
    return hashlib.sha256(canonical(rows)).hexdigest()


def write(materialised: Materialised, folder: Path) -> None:
    """``plan.parquet`` and ``prompts.parquet`` into a bundle folder."""
    for name, schema, rows in (
        (layout.PLAN, PLAN, materialised.plan),
        (layout.PROMPTS, PROMPTS, materialised.prompts),
    ):
        table = pa.Table.from_pylist(list(rows), schema=schema)
        pq.write_table(table, folder / name, compression="zstd")


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Segment -> requests, tokens in, tokens out at most, and its distinct shapes with their counts."""
    found: dict[str, Any] = {}
    for row in rows:
        segment = found.setdefault(
            row["segment"], {"requests": 0, "input_tokens": 0, "output_tokens": 0, "shapes": []}
        )
        segment["requests"] += 1
        segment["input_tokens"] += row["input_tokens"]
        segment["output_tokens"] += row["output_cap"]
        shape = {
            "case": row["case"],
            "input_tokens": row["input_tokens"],
            "output_tokens": row["output_cap"],
        }
        same = next((s for s in segment["shapes"] if s.items() >= shape.items()), None)
        if same is None:
            segment["shapes"].append({**shape, "requests": 1})
        else:
            same["requests"] += 1
    return found


def _asks(document: Mapping[str, Any], encoder: InputEncoder) -> Iterator[_Ask]:
    workload, trace = document["workload"], document["evidence"]["trace"]
    writer = PromptWriter(
        encoder=encoder, endpoint=str(workload["endpoint"]), seed=int(workload["seed"])
    )
    for _ in range(workload["warmup_requests"]):
        yield _Ask(
            segment=Segment.warmup,
            prompt=writer.write(
                workload["warmup_input_tokens"], where="workload.warmup_input_tokens"
            ),
            output_cap=workload["warmup_output_tokens"],
        )
    for index, case in enumerate(workload["cases"]):
        where = f"workload.cases.{index}.input_tokens"
        yield _Ask(
            segment=Segment.cases,
            prompt=writer.write(case["input_tokens"], where=where),
            output_cap=case["output_tokens"],
            case=case["name"],
            cancel=case["cancel"],
        )
    yield from _load_asks(document, writer)
    for _ in range(trace["requests"] if trace["enabled"] else 0):
        yield _Ask(
            segment=Segment.profile,
            prompt=writer.write(trace["input_tokens"], where="evidence.trace.input_tokens"),
            output_cap=trace["output_tokens"],
        )


def _load_asks(document: Mapping[str, Any], writer: PromptWriter) -> Iterator[_Ask]:
    workload, load = document["workload"], document["load"]
    count = workload["requests"]
    slots: list[int | None] = [None] * count
    offsets: list[int | None] = [None] * count
    if load["kind"] == "closed":
        slots = list(arrivals.closed_slots(count, concurrency=load["concurrency"]))
    elif load["kind"] == "constant":
        offsets = list(arrivals.constant_offsets_ns(count, rate_per_s=load["rate_per_s"]))
    else:
        offsets = list(
            arrivals.poisson_offsets_ns(
                count, rate_per_s=load["rate_per_s"], seed=int(load["seed"])
            )
        )
    prefix = writer.shared_prefix(workload["shared_prefix_tokens"])
    for index in range(count):
        if workload["prompt_source"] == "text":
            prompt = writer.adopt(
                workload["texts"][index],
                most_tokens=workload["input_tokens"],
                where=f"workload.texts.{index}",
            )
        else:
            prompt = writer.write(
                workload["input_tokens"], where="workload.input_tokens", prefix=prefix
            )
        yield _Ask(
            segment=Segment.load,
            prompt=prompt,
            output_cap=workload["output_tokens"],
            offset_ns=offsets[index],
            slot=slots[index],
        )


def _numbered(asks: list[_Ask]) -> Iterator[tuple[_Ask, int]]:
    counts: dict[Segment, int] = {}
    for ask in asks:
        counts[ask.segment] = counts.get(ask.segment, 0) + 1
        yield ask, counts[ask.segment]


_PHASES = {
    Segment.warmup: Phase.warmup,
    Segment.cases: Phase.measure,
    Segment.load: Phase.measure,
    Segment.profile: Phase.profile,
}


def _row(
    sequence: int, ask: _Ask, number: int, workload: Mapping[str, Any], sampling_seed: int
) -> dict[str, Any]:
    request_id = f"{ask.segment.value}-{number:04d}"
    cancel = ask.cancel or {}
    after_s = cancel.get("after_s")
    return {
        "sequence": sequence,
        "phase": _PHASES[ask.segment].value,
        "segment": ask.segment.value,
        "case": ask.case,
        "task_id": f"T-{request_id}",
        "session_id": f"S-{request_id}",
        "request_id": request_id,
        "model_call_id": f"M-{request_id}",
        "call_type": workload["call_type"],
        "endpoint": workload["endpoint"],
        "offset_ns": ask.offset_ns,
        "slot": ask.slot,
        "prompt_ref": ask.prompt.ref,
        "input_sha256": ask.prompt.input_sha256,
        "input_tokens": len(ask.prompt.token_ids),
        "output_cap": ask.output_cap,
        "sampling_seed": sampling_seed,
        "temperature": workload["temperature"],
        "top_p": workload["top_p"],
        "top_k": workload["top_k"],
        "stop": list(workload["stop"]),
        "ignore_eos": workload["ignore_eos"],
        "cancel_after_chunks": cancel.get("after_chunks"),
        "cancel_after_ns": None if after_s is None else round(after_s * arrivals.NS_PER_S),
    }
