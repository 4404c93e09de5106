"""Parse requests for vectors and for scores: ``/v1/embeddings``, ``/v1/score`` and ``/v1/rerank``.

The forms are OpenAI's for embeddings and vLLM's for the other two. Score and rerank are cosine similarities
of the texts' vectors, which is what vLLM answers for a model that embeds: each text is computed alone. As
with the other endpoints, unknown fields are ignored, and what is known and cannot be honoured is named.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runners.engines.torch.api_request import ApiProblem, bad, checked_document
from runners.engines.torch.artifact_text import ArtifactText
from runners.engines.torch.calls import PooledCall
from runners.engines.torch.settings import ServerConfig

EMBEDDINGS, SCORE, RERANK = "embeddings", "score", "rerank"
MAX_TEXTS = 2048  # OpenAI's limit of one embeddings request
ENCODINGS = ("float", "base64")
# The one value each that changes nothing; an empty tuple means that only leaving it out does.
NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "dimensions": (),
    "truncate_prompt_tokens": (),
    "mm_processor_kwargs": (),
    "normalize": (True,),
    "activation": (True,),
    "stream": (False,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedVectors:
    """A checked request. ``queries`` texts come first in the call, the others after them.

    ``texts`` are the documents of a rerank as they came, for its reply.
    """

    kind: str
    call: PooledCall
    queries: int
    encoding: str
    texts: tuple[str, ...]
    top_n: int


def parse(
    kind: str, body: bytes, *, request: str, config: ServerConfig, text: ArtifactText
) -> AskedVectors:
    """Raises ApiProblem naming the field, the value seen and the values allowed."""
    document = checked_document(body, config, NEUTRAL)
    read = {EMBEDDINGS: _embeddings, SCORE: _score, RERANK: _rerank}[kind]
    queries, others, documents = read(document, text)
    prompts = [*queries, *others]
    if len(prompts) > MAX_TEXTS:
        raise bad("input", f"{len(prompts)} texts", f"at most {MAX_TEXTS} in one request")
    for number, prompt in enumerate(prompts):
        _check_length(number, len(prompt), config)
    return AskedVectors(
        kind=kind,
        call=PooledCall(request=request, prompts=tuple(tuple(p) for p in prompts)),
        queries=len(queries),
        encoding=_encoding(document),
        texts=tuple(documents),
        top_n=_top_n(document, len(documents)),
    )


_Parts = tuple[list[list[int]], list[list[int]], list[str]]


def _embeddings(document: Mapping[str, Any], text: ArtifactText) -> _Parts:
    given = document.get("input")
    if isinstance(given, list) and given and all(_is_id(item) for item in given):
        given = [given]
    if not isinstance(given, list):
        given = [given]
    if not given:
        raise bad("input", given, "a non-empty text, token ids, or a list of either")
    return [], [_tokens(item, f"input[{at}]", text) for at, item in enumerate(given)], []


def _score(document: Mapping[str, Any], text: ArtifactText) -> _Parts:
    left, right = (_texts(document, name) for name in ("text_1", "text_2"))
    if len(left) not in (1, len(right)):
        raise bad("text_1", f"{len(left)} texts", f"one text, or as many as text_2 ({len(right)})")
    sides = [
        [_tokens(item, f"{name}[{at}]", text) for at, item in enumerate(side)]
        for name, side in (("text_1", left), ("text_2", right))
    ]
    return sides[0], sides[1], []


def _rerank(document: Mapping[str, Any], text: ArtifactText) -> _Parts:
    query = document.get("query")
    documents = _texts(document, "documents")
    tokens = [_tokens(item, f"documents[{at}]", text) for at, item in enumerate(documents)]
    return [_tokens(query, "query", text)], tokens, documents


def _texts(document: Mapping[str, Any], name: str) -> list[str]:
    given = document.get(name)
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, list) or not listed or not all(isinstance(t, str) for t in listed):
        raise bad(name, given, "a text or a list of texts")
    return listed


def _tokens(given: Any, where: str, text: ArtifactText) -> list[int]:
    if isinstance(given, str) and given:
        return text.encode(given)
    if not isinstance(given, list) or not given or not all(_is_id(item) for item in given):
        raise bad(where, given, "a non-empty text or a list of token ids")
    for token in given:
        if not 0 <= token < text.vocabulary:
            raise bad(where, token, f"token ids from 0 to {text.vocabulary - 1}")
    return given


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_length(number: int, tokens: int, config: ServerConfig) -> None:
    longest = config.settings.longest_request
    if tokens > longest:
        raise ApiProblem(
            f"text {number} has {tokens} tokens (allowed: at most {longest}). Shorten it",
            field="input",
            code="context_length_exceeded",
        )


def _encoding(document: Mapping[str, Any]) -> str:
    encoding = document.get("encoding_format") or "float"
    if encoding not in ENCODINGS:
        raise bad("encoding_format", encoding, ", ".join(ENCODINGS))
    return str(encoding)


def _top_n(document: Mapping[str, Any], documents: int) -> int:
    """How many results a rerank lists; 0, or more than there are, means all of them."""
    top_n = document.get("top_n")
    if top_n is None:
        return documents
    if not _is_id(top_n) or top_n < 0:
        raise bad("top_n", top_n, "a whole number from 0 (all)")
    return min(int(top_n), documents) or documents


def cosines(left: Sequence[Sequence[float]], right: Sequence[Sequence[float]]) -> list[float]:
    """Dot products of unit vectors, pair by pair; a single one on the left meets all on the right."""
    first = list(left) * (len(right) if len(left) == 1 else 1)
    return [
        sum(a * b for a, b in zip(u, v, strict=True)) for u, v in zip(first, right, strict=True)
    ]
