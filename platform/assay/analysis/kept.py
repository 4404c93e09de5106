"""What stays of an attempt once its own rows are written: figures and instants, no text and no evidence.

Aggregates, rates, windows, retries and tasks are over all attempts of a run; a run of any length must not
hold what its requests said.
"""

from dataclasses import replace
from typing import cast

from assay.analysis.wire.attempt import Attempt
from assay.analysis.wire.stream import ReplyReader

# Of the reply's public attributes those that are no words; each is read as the reply gives it.
_FIGURES = (
    "bare_choice_times_ns",
    "body_bytes",
    "cached_tokens",
    "call_type",
    "chunk_times_ns",
    "chunk_tokens",
    "class_counts",
    "dialect",
    "done_marker_ns",
    "error_ns",
    "error_type",
    "events",
    "finish",
    "finish_ns",
    "finish_reason",
    "first_content_ns",
    "first_reasoning_ns",
    "first_visible_ns",
    "last_content_ns",
    "last_read_ns",
    "problem",
    "prompt_ids",
    "prompt_tokens",
    "reasoning_tokens",
    "scored",
    "token_ids",
    "usage_form",
    "usage_tokens",
)


class KeptReply:
    """Stands where the attempt's ``ReplyReader`` stood, for readers of its figures."""

    __slots__ = _FIGURES

    def __init__(self, reply: ReplyReader) -> None:
        for name in _FIGURES:
            setattr(self, name, getattr(reply, name))


def kept(attempt: Attempt) -> Attempt:
    """The same attempt without its words; asking it for a text is an AttributeError."""
    return replace(attempt, reply=cast("ReplyReader", KeptReply(attempt.reply)), evidence={})
