"""The dialects of replies, in one table: which endpoint speaks which, and how its payloads are known."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from assay.analysis.wire.content import Payload
from assay.analysis.wire.dialects import choices, generate, messages, responses


class PayloadReader(Protocol):
    """Reads the payloads of one reply, in order. ``deltas_stand_alone``: none depends on one before it."""

    deltas_stand_alone: bool

    def read(self, document: dict[str, Any]) -> Payload: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """``endpoints`` are the plan's names; ``recognises`` looks at one payload."""

    label: str
    endpoints: tuple[str, ...]
    recognises: Callable[[dict[str, Any]], bool]
    reader: Callable[[], PayloadReader]


CHOICES, RESPONSES, MESSAGES, GENERATE = "choices", "responses", "messages", "generate"

DIALECTS: dict[str, Dialect] = {
    CHOICES: Dialect(
        label="OpenAI chat and completions",
        endpoints=("chat", "completions"),
        recognises=choices.recognises,
        reader=choices.ChoicesReader,
    ),
    RESPONSES: Dialect(
        label="OpenAI Responses",
        endpoints=("responses",),
        recognises=responses.recognises,
        reader=responses.ResponsesReader,
    ),
    MESSAGES: Dialect(
        label="Anthropic Messages",
        endpoints=("messages",),
        recognises=messages.recognises,
        reader=messages.MessagesReader,
    ),
    GENERATE: Dialect(
        label="SGLang generate",
        endpoints=("generate",),
        recognises=generate.recognises,
        reader=generate.GenerateReader,
    ),
}


def of_endpoint(endpoint: str | None) -> str | None:
    """The dialect of a planned endpoint; None for one that speaks none of these."""
    return next((name for name, d in DIALECTS.items() if endpoint in d.endpoints), None)


def recognised(document: dict[str, Any]) -> str | None:
    """The dialect that this payload shows; None if it shows none (an error, a bare keep-alive)."""
    return next((name for name, d in DIALECTS.items() if d.recognises(document)), None)
