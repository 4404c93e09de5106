"""Everything that a run asks, in the order of its plan: warm-up, cases, the load's arrivals, the profile."""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from runners.load import file_prompts
from runners.load.cancels import cancels
from runners.load.plan_rows import Ask
from runners.load.prompts import Prompt, PromptWriter
from runners.load.schedule import Planned
from runners.load.scoring_inputs import scoring_prompt
from runners.load.structures import Source, parts
from runners.load.trace_formats import BLOCK_TOKENS
from runners.protocol.events import Segment


def asks_of(
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


def numbered(asks: list[Ask]) -> Iterator[tuple[Ask, int]]:
    """Each with the number of its arrival in its segment, from 1."""
    counts: dict[Segment, int] = {}
    for ask in asks:
        if ask.part is None or not ask.part.suffix:  # the parts of an arrival share its number
            counts[ask.segment] = counts.get(ask.segment, 0) + 1
        yield ask, counts[ask.segment]
