"""The plan of one run, made whole before anything starts: every request with its prompt, time and limits.

Rows follow ``runners.protocol.tables.PLAN`` and ``PROMPTS``. The plan digest is the sha256 of the canonical
JSON of the plan rows, which hold the hash of every prompt's token ids.
"""

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from runners.load import disjointness, file_prompts
from runners.load.cancels import cancels
from runners.load.lengths import with_lengths
from runners.load.place import ONLY, Place, prompt_seed
from runners.load.plan_rows import Ask, row_of
from runners.load.prompt_files import Entries
from runners.load.prompts import COMPLETIONS, InputEncoder, Prompt, PromptWriter
from runners.load.schedule import Planned, check_fits, schedule
from runners.load.scoring_inputs import scoring_prompt
from runners.load.structures import Source, parts
from runners.load.trace_formats import BLOCK_TOKENS, TraceRow
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
    digest: str
    summary: dict[str, Any]


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
    asks = list(_asks(document, writer, planned, sample))
    if workload["disjoint"] != "none":
        disjointness.check(_inputs(asks), encoder, endpoint=_written_for(workload))
    seeds = random.Random(int(workload["seed"])).random
    rows = [
        row_of(sequence, ask, number, workload, int(seeds() * SAMPLING_SEEDS))
        for sequence, (ask, number) in enumerate(_numbered(asks))
    ]
    prompts = {
        ask.prompt.ref: {
            "prompt_ref": ask.prompt.ref,
            "messages": canonical(ask.prompt.messages).decode("utf-8"),
            "expanded": ask.prompt.expanded,
            "token_ids": None if ask.prompt.token_ids is None else list(ask.prompt.token_ids),
            "tokenizer_sha256": tokenizer_sha256,
            "chat_template_sha256": chat_template_sha256,
        }
        for ask in asks
    }
    return Materialised(
        plan=tuple(rows),
        prompts=tuple(prompts.values()),
        digest=plan_digest(rows),
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


def _asks(
    document: Mapping[str, Any],
    writer: PromptWriter,
    planned: Sequence[Planned],
    sample: file_prompts.Sample | None,
) -> Iterator[Ask]:
    workload, trace = document["workload"], document["evidence"]["trace"]
    generates = workload["call_type"] == "generation"
    for _ in range(workload["warmup_requests"]):
        yield Ask(
            segment=Segment.warmup,
            prompt=_own_prompt(
                workload,
                writer,
                workload["warmup_input_tokens"],
                where="workload.warmup_input_tokens",
            ),
            output_cap=workload["warmup_output_tokens"],
        )
    for index, case in enumerate(workload["cases"]):
        where = f"workload.cases.{index}.input_tokens"
        yield Ask(
            segment=Segment.cases,
            prompt=_own_prompt(workload, writer, case["input_tokens"], where=where),
            output_cap=case["output_tokens"],
            case=case["name"],
            cancel=case["cancel"],
        )
    yield from _load_asks(document, writer, planned, sample)
    for _ in range(trace["requests"] if trace["enabled"] else 0):
        yield Ask(
            segment=Segment.profile,
            prompt=_own_prompt(
                workload, writer, trace["input_tokens"], where="evidence.trace.input_tokens"
            ),
            output_cap=trace["output_tokens"] if generates else 0,
        )


def _load_asks(
    document: Mapping[str, Any],
    writer: PromptWriter,
    planned: Sequence[Planned],
    sample: file_prompts.Sample | None,
) -> Iterator[Ask]:
    workload = document["workload"]
    prefixes = writer.shared_prefixes(
        workload["shared_prefix_tokens"],
        groups=workload["shared_prefixes"],
        where="workload.shared_prefixes",
    )
    pick = random.Random(f"prefix/{workload['seed']}").random
    texts = count()
    given_up = cancels(workload)
    for index, request in enumerate(planned):
        group = int(pick() * len(prefixes))
        prefix = prefixes[group]

        def ask(
            lead: Sequence[str],
            request: Planned = request,
            index: int = index,
            prefix: Sequence[str] = prefix,
        ) -> Prompt:
            if sample is not None:
                return sample.prompts[index].prompt
            if workload["prompt_source"] == "text":
                return _text_prompt(workload, writer, next(texts))
            return _written_prompt(
                workload,
                writer,
                request,
                where=f"load.trace: request {index + 1}",
                prefix=[*prefix, *lead],
            )

        for part in parts(document, Source(writer=writer, ask=ask)):
            is_root = not part.after
            yield Ask(
                segment=Segment.load,
                prompt=part.prompt,
                output_cap=(request.output_tokens if part.step is None else None)
                or part.output_cap,
                offset_ns=request.offset_ns if is_root else None,
                slot=request.slot if is_root else None,
                cancel=next(given_up),
                part=part,
                prefix_group=group if prefix else None,
                prefix_tokens=len(prefix),
            )


def _own_prompt(
    workload: Mapping[str, Any], writer: PromptWriter, input_tokens: int, *, where: str
) -> Prompt:
    if workload["call_type"] != "generation":
        return scoring_prompt(writer, workload, input_tokens, where=where)
    return writer.write(input_tokens, where=where)


def _text_prompt(workload: Mapping[str, Any], writer: PromptWriter, index: int) -> Prompt:
    return writer.adopt(
        workload["texts"][index],
        most_tokens=workload["input_tokens"],
        where=f"workload.texts.{index}",
    )


def _written_prompt(
    workload: Mapping[str, Any],
    writer: PromptWriter,
    request: Planned,
    *,
    where: str,
    prefix: Sequence[str],
) -> Prompt:
    input_tokens = request.input_tokens or workload["input_tokens"]
    if workload["call_type"] != "generation":
        return scoring_prompt(writer, workload, input_tokens, where="workload.input_tokens")
    return writer.write(
        input_tokens,
        where=where if request.input_tokens else "workload.input_tokens",
        prefix=writer.blocks(request.blocks, tokens=BLOCK_TOKENS, within=input_tokens) or prefix,
    )


def _numbered(asks: list[Ask]) -> Iterator[tuple[Ask, int]]:
    counts: dict[Segment, int] = {}
    for ask in asks:
        if ask.part is None or not ask.part.suffix:  # the parts of an arrival share its number
            counts[ask.segment] = counts.get(ask.segment, 0) + 1
        yield ask, counts[ask.segment]
