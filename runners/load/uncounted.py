"""Prompts where no tokenizer is known: so many common words each, and no token count is claimed for them.

The plan is made as any other, with words in the place of tokens; then everything that would be read as a
token count is made null. What the prompts really took is what the server's usage says.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from runners.load.materialise import Materialised
from runners.load.prompts import COMPLETIONS

# Common English words; most vocabularies hold each of them as one token.
_TEXT = """
time year people way day man thing woman life child world school state family student group country problem
hand part place case week company system program question work government number night point home water room
mother area money story fact month lot right study book eye job word business issue side kind head house
service friend father power hour game line
"""
WORDS = tuple(_TEXT.split())
_OTHER = len(WORDS)  # any word that is not ours


class WordEncoder:
    """Counts words. Stands where an artifact's encoder would, for a plan whose counts are then removed."""

    vocabulary = len(WORDS)

    def render(self, messages: Sequence[Mapping[str, Any]]) -> str:
        return " ".join(str(m["content"]) for m in messages)

    def encode(self, text: str) -> list[int]:
        return [_NUMBERS.get(word, _OTHER) for word in text.split()]

    def token_text(self, token_id: int) -> str | None:
        return f"Ġ{WORDS[token_id]}" if token_id < len(WORDS) else None


_NUMBERS = {word: number for number, word in enumerate(WORDS)}


def without_counts(counted: Materialised) -> Materialised:
    """The same plan with nothing that could be taken for a count of tokens; completions are sent as text."""
    none = {"input_tokens": None, "input_sha256": None}
    # A first turn has no history in any tokenizer; that of a later one was counted in words.
    plan = [row | none | {"history_tokens": row["history_tokens"] and None} for row in counted.plan]
    chats = {row["prompt_ref"] for row in plan if row["endpoint"] != COMPLETIONS}
    prompts = [
        row
        | {"token_ids": None, "tokenizer_sha256": None, "chat_template_sha256": None}
        | ({"expanded": None} if row["prompt_ref"] in chats else {})  # by which template, if any?
        for row in counted.prompts
    ]
    return dataclasses.replace(counted, plan=tuple(plan), prompts=tuple(prompts))
