"""The plan of one run, made whole before anything starts: every request with its prompt, time and limits.

Rows follow ``runners.protocol.tables.PLAN`` and ``PROMPTS``. The plan digest is the sha256 of the canonical
JSON of the plan rows, which hold the hash of every prompt's token ids.
"""

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from runners.load import disjointness, file_prompts
from runners.load.asks import asks_of, numbered
from runners.load.lengths import with_lengths
from runners.load.place import ONLY, Place, prompt_seed
from runners.load.plan_rows import Ask, row_of
from runners.load.prompt_files import Entries
from runners.load.prompts import COMPLETIONS, InputEncoder, PromptWriter
from runners.load.schedule import check_fits, schedule
from runners.load.trace_formats import TraceRow
from runners.protocol import layout
from runners.protocol.events import Segment
from runners.protocol.manifest import canonical
from runners.protocol.tables import PLAN, PROMPTS

SAMPLING_SEEDS = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class Materialised:
    """``summary``: segment -> requests, input and output tokens (caps), and the shapes it is made of."""

    plan: tuple[dict[str, Any], ...]
    prompts: tuple[dict[str, Any], ...]
    summary: dict[str, Any]

    @property
    def digest(self) -> str:
        return plan_digest(self.plan)


def materialise(
    document: Mapping[str, Any],
    encoder: InputEncoder,
    *,
    tokenizer_sha256: str,
    chat_template_sha256: str,
    trace_rows: Sequence[TraceRow] = (),
    entries: Entries | None = None,
    place: Place = ONLY,
) -> Materialised:
    """Every request of a run spec. Raises Refused if a prompt cannot have its declared length.

    ``trace_rows`` are those of the pinned trace, where the load replays one; ``entries`` those of the pinned
    prompt file, where the workload names one. ``place`` keeps the prompts of a study's runs apart.
    """
    workload = document["workload"]
    paced = schedule(document, trace_rows)
    check_fits(paced.requests, document)
    planned = with_lengths(paced.requests, workload)
    sample = None
    if entries is not None:
        sample = file_prompts.sample(entries, workload, encoder, count=len(planned), place=place)
        planned = [
            replace(request, output_tokens=taken.output_tokens or request.output_tokens)
            for request, taken in zip(planned, sample.prompts, strict=True)
        ]
    writer = PromptWriter(
        encoder=encoder, endpoint=_written_for(workload), seed=prompt_seed(workload, place)
    )
    asks = list(asks_of(document, writer, planned, sample))
    if workload["disjoint"] != "none":
        disjointness.check(_inputs(asks), encoder, endpoint=_written_for(workload))
    seeds = random.Random(int(workload["seed"])).random
    rows = [
        row_of(sequence, ask, number, workload, int(seeds() * SAMPLING_SEEDS))
        for sequence, (ask, number) in enumerate(numbered(asks))
    ]
    prompts = {
        row["prompt_ref"]: {
            "prompt_ref": row["prompt_ref"],
            "messages": ask.prompt.canonical_json.decode("utf-8"),
            "expanded": ask.prompt.expanded,
            "token_ids": None if ask.prompt.token_ids is None else list(ask.prompt.token_ids),
            "tokenizer_sha256": tokenizer_sha256,
            "chat_template_sha256": chat_template_sha256,
        }
        for row, ask in zip(rows, asks, strict=True)
    }
    return Materialised(
        plan=tuple(rows),
        prompts=tuple(prompts.values()),
        summary=_with_notes(
            summary(rows), trace=paced.notes, file=sample.summary() if sample else {}
        ),
    )


def _with_notes(found: dict[str, Any], **notes: Mapping[str, Any]) -> dict[str, Any]:
    for name, counts in notes.items():
        if counts and Segment.load in found:
            found[Segment.load][name] = dict(counts)
    return found


def _written_for(workload: Mapping[str, Any]) -> str:
    """By which endpoint's form texts are written and counted: scoring calls take them without template."""
    is_generation = workload["call_type"] == "generation"
    return str(workload["endpoint"]) if is_generation else COMPLETIONS


def _inputs(asks: Sequence[Ask]) -> Iterator[disjointness.Input]:
    for number, ask in enumerate(asks):
        yield disjointness.Input(
            segment=ask.segment.value,
            name=f"request {number + 1} of the plan",
            ref=ask.prompt.ref,
            token_ids=ask.prompt.token_ids,
            led_by=ask.prefix_tokens,
        )


def plan_digest(rows: Sequence[dict[str, Any]]) -> str:
    """sha256 (hex) of the canonical JSON of the plan rows in order."""
    return hashlib.sha256(canonical(list(rows))).hexdigest()


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
        segment["input_tokens"] += row["input_tokens"] or 0
        if row["input_tokens"] is None:
            segment["uncounted_inputs"] = segment.get("uncounted_inputs", 0) + 1
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
