"""Parts of config group ``workload``: where prompts come from, their lengths, what a scoring call holds."""

from dataclasses import dataclass
from enum import StrEnum

from experiments.schema.roles import context_field, key_field, variable_field


class PromptSource(StrEnum):
    synthetic = "synthetic"
    text = "text"
    file = "file"


class Disjoint(StrEnum):
    """Which prompts have no text in common: what a cache could carry from one to the other."""

    cells = "cells"  # those of all runs of a study, and of warm-up, cases, load and profile within a run
    run = "run"  # those of the parts of one run; another run of the study has the same ones again
    none = "none"  # no promise: a prompt may come twice


class FileFormat(StrEnum):
    sharegpt = "sharegpt"  # a JSON list of {"conversations": [{"from", "value"}, ...]}
    jsonl = "jsonl"  # one JSON object a line
    csv = "csv"  # with a header


class FileOrder(StrEnum):
    shuffled = "shuffled"  # by workload.seed, without replacement
    file = "file"


class FileOutput(StrEnum):
    workload = "workload"  # every request may get workload.output_tokens
    file = "file"  # each may get what its own answer in the file took


class WhenShort(StrEnum):
    """What is done when the file has fewer usable entries than requests."""

    refuse = "refuse"
    repeat = "repeat"  # from the start again; needs workload.disjoint: none


@dataclass
class PromptFile:
    """``path`` is relative to an allowed root or below one; the bytes are pinned by ``sha256``.

    ``sharegpt`` takes the turns up to the first question, and the answer after it. Of a JSONL or CSV row
    either ``messages_field`` (JSONL, for chat) or ``prompt_field`` is sent; the answer's length is a number
    of tokens in ``output_tokens_field``, or is counted of the text in ``answer_field``. An entry longer than
    ``workload.input_tokens`` or ``workload.output_tokens``, or shorter than the least here, is left out and
    counted.
    """

    path: str = context_field()
    sha256: str = key_field()
    format: FileFormat = key_field()
    messages_field: str | None = key_field(None)
    prompt_field: str | None = key_field(None)
    output_tokens_field: str | None = key_field(None)
    answer_field: str | None = key_field(None)
    output: FileOutput = key_field(FileOutput.workload)
    order: FileOrder = key_field(FileOrder.shuffled)
    min_input_tokens: int = key_field(1)
    min_output_tokens: int = key_field(1)
    when_short: WhenShort = key_field(WhenShort.refuse)


class LengthKind(StrEnum):
    uniform = "uniform"  # every length from ``minimum`` to ``maximum`` alike
    normal = "normal"  # about ``mean`` with ``deviation``, clipped
    lognormal = "lognormal"  # exp of a normal about ln(``mean``) with ``deviation``, clipped
    listed = "listed"  # one of ``values``, each alike; a value may stand several times


@dataclass
class LengthRule:
    """Lengths in tokens, drawn for each request from ``workload.seed``; null in their place: all alike.

    ``mean`` of a lognormal is its median, in tokens, and ``deviation`` that of the logarithm.
    """

    kind: LengthKind = key_field()
    minimum: int | None = variable_field(None)
    maximum: int | None = variable_field(None)
    mean: float | None = variable_field(None)
    deviation: float | None = variable_field(None)
    values: list[int] = variable_field(list)


@dataclass
class ScoringRule:
    """``items`` texts of ``workload.input_tokens`` each: inputs of an embedding, documents of a rerank, right
    sides of a score; the last two compare them with one text of ``query_tokens``.
    """

    items: int = variable_field(1)
    query_tokens: int = variable_field(0)
