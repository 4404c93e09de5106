"""Prompts with an exact number of input tokens, counted after chat template and tokenizer.

A synthetic prompt is made of words that are one token each, so its length is known in tokens, never guessed
from characters; and the finished prompt is encoded once more, and refused if the count is not exact. Draws
come from ``random.Random(seed).random()`` alone.
"""

import hashlib
import random
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from runners.protocol.errors import Finding, Refused
from runners.protocol.manifest import canonical

COMPLETIONS = "completions"
WORD_MARKS = ("Ġ", "▁")  # how vocabularies write a leading space
MAX_WORDS = 4096
MAX_DRAWS = 64


class InputEncoder(Protocol):
    """The artifact's own template and tokenizer."""

    @property
    def vocabulary(self) -> int:
        """Number of token ids."""

    def render(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """The full model input of a chat, with the prompt for the next answer."""

    def encode(self, text: str) -> list[int]:
        """Token ids of exactly this text."""

    def token_text(self, token_id: int) -> str | None:
        """How the vocabulary writes a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """``messages`` is the chat's message list, or the plain text of a completion."""

    messages: Any
    expanded: str
    token_ids: tuple[int, ...]
    canonical_json: bytes = field(init=False, repr=False, compare=False)  # JSON of the messages

    def __post_init__(self) -> None:
        object.__setattr__(self, "canonical_json", canonical(self.messages))

    @property
    def ref(self) -> str:
        """sha256 of the canonical JSON of the messages."""
        return hashlib.sha256(self.canonical_json).hexdigest()

    @property
    def input_sha256(self) -> str:
        """sha256 of the token ids as little-endian int32: equal inputs have equal hashes, whoever counted."""
        return hashlib.sha256(struct.pack(f"<{len(self.token_ids)}i", *self.token_ids)).hexdigest()


def from_content(content: str, *, endpoint: str, encoder: InputEncoder) -> Prompt:
    """The prompt that sends ``content``: the text itself in a completion, else one user message."""
    if endpoint == COMPLETIONS:
        return Prompt(messages=content, expanded=content, token_ids=tuple(encoder.encode(content)))
    return from_messages([{"role": "user", "content": content}], encoder=encoder)


def from_messages(messages: Sequence[Mapping[str, Any]], *, encoder: InputEncoder) -> Prompt:
    """The prompt that sends a whole message list."""
    expanded = encoder.render(messages)
    ids = tuple(encoder.encode(expanded))
    return Prompt(messages=list(messages), expanded=expanded, token_ids=ids)


@dataclass(slots=True, kw_only=True)
class PromptWriter:
    """Writes prompts of exact length, no two with the same content: warm-up, cases and load stay disjoint."""

    encoder: InputEncoder
    endpoint: str
    seed: int
    _words: list[str] = field(default_factory=list)
    _overhead: int = 0
    _written: set[str] = field(default_factory=set)
    _random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._words = single_token_words(self.encoder)
        probe = from_content(self._words[0], endpoint=self.endpoint, encoder=self.encoder)
        self._overhead = len(probe.token_ids) - 1

    def shared_prefix(self, tokens: int) -> tuple[str, ...]:
        """Words that every prompt of a segment may begin with: ``tokens`` tokens of content."""
        return tuple(self._draw(tokens))

    def shared_prefixes(self, tokens: int, *, groups: int, where: str) -> list[tuple[str, ...]]:
        """So many prefixes, of which no two begin alike. Raises Refused if there are not as many."""
        found: dict[tuple[str, ...], tuple[str, ...]] = {}
        for _ in range(groups * MAX_DRAWS):
            if len(found) == groups:
                return list(found.values())
            prefix = self.shared_prefix(tokens)
            found.setdefault(prefix[:2], prefix)
        if len(found) == groups:
            return list(found.values())
        raise _refused(
            where, f"{groups} prefixes", f"{len(found)}", "Ask for longer ones or fewer."
        )

    def blocks(self, names: Sequence[int], *, tokens: int, within: int) -> tuple[str, ...]:
        """The words of whole blocks of ``tokens`` tokens, alike wherever a block's name comes again.

        Only as many as leave the prompt of ``within`` input tokens a token of its own.
        """
        room = (within - self._overhead - 1) // tokens
        found: list[str] = []
        for name in names[: max(room, 0)]:
            draw = random.Random(f"{self.seed}/block/{name}").random
            found += [self._words[int(draw() * len(self._words))] for _ in range(tokens)]
        return tuple(found)

    def write(self, input_tokens: int, *, where: str, prefix: Sequence[str] = ()) -> Prompt:
        """A new prompt of exactly ``input_tokens`` tokens; ``where`` is the field that asked for it.

        Raises Refused if the template alone takes more, or if no new prompt of that length exists.
        """
        content_tokens = input_tokens - self._overhead
        if content_tokens - len(prefix) < 1:
            raise _refused(
                where,
                f"{input_tokens} input tokens",
                f"at least {self._overhead + len(prefix) + 1}",
                f"The chat template takes {self._overhead} tokens and the shared prefix {len(prefix)}.",
            )
        for _ in range(MAX_DRAWS):
            content = " ".join([*prefix, *self._draw(content_tokens - len(prefix))])
            if content in self._written:
                continue
            prompt = from_content(content, endpoint=self.endpoint, encoder=self.encoder)
            if len(prompt.token_ids) == input_tokens:
                self._written.add(content)
                return prompt
        raise _refused(
            where,
            f"{input_tokens} input tokens",
            "a length that leaves room for different prompts",
            f"No new prompt came out in {MAX_DRAWS} draws; ask for longer prompts or fewer requests.",
        )

    def adopt(self, content: str, *, most_tokens: int, where: str) -> Prompt:
        """The prompt of a given text. Raises Refused if it takes more than ``most_tokens`` tokens."""
        prompt = from_content(content, endpoint=self.endpoint, encoder=self.encoder)
        if len(prompt.token_ids) > most_tokens:
            raise _refused(
                where,
                f"{len(prompt.token_ids)} tokens",
                f"at most {most_tokens} (workload.input_tokens)",
                "Shorten the text or raise the limit.",
            )
        self._written.add(content)
        return prompt

    def _draw(self, count: int) -> list[str]:
        draw, words = self._random.random, self._words
        return [words[int(draw() * len(words))] for _ in range(count)]


def single_token_words(encoder: InputEncoder) -> list[str]:
    """Lower-case words that are one token both after a space and at the start of a text.

    In vocabulary order, at most 4096. Raises Refused if the vocabulary has none.
    """
    words: list[str] = []
    for token_id in range(encoder.vocabulary):
        text = encoder.token_text(token_id)
        if text is None or not text.startswith(WORD_MARKS):
            continue
        word = text[1:]
        if len(word) < 3 or not (word.isascii() and word.isalpha() and word.islower()):
            continue
        if encoder.encode(f" {word}") == [token_id] and len(encoder.encode(word)) == 1:
            words.append(word)
            if len(words) == MAX_WORDS:
                break
    if not words:
        raise _refused(
            "workload.prompt_source",
            "synthetic",
            "text, with this tokenizer",
            "Its vocabulary holds no word that is a single token.",
        )
    return words


def _refused(where: str, seen: str, allowed: str, remedy: str) -> Refused:
    return Refused(Finding(field=where, seen=seen, allowed=allowed, remedy=remedy))
