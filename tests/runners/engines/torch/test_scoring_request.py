"""What a request for vectors or scores may hold, how it is told that it may not, and how it is answered."""

import base64
import json
import struct
from typing import Any

import pytest

from runners.engines.torch import scoring_response
from runners.engines.torch.api_request import ApiProblem
from runners.engines.torch.scoring_request import (
    EMBEDDINGS,
    MAX_TEXTS,
    RERANK,
    SCORE,
    AskedVectors,
    parse,
)
from tests.runners.engines.torch.test_api_request import CONFIG, TEXT

IDS = {text: tuple(TEXT.encode(text)) for text in ("cat", "dog", "a")}


def asked(kind: str, **body: Any) -> AskedVectors:
    data = json.dumps({"model": "served", **body}).encode()
    return parse(kind, data, request="r1", config=CONFIG, text=TEXT)


@pytest.mark.parametrize(
    ("given", "prompts"),
    [
        ("cat", (IDS["cat"],)),
        (["cat", "dog"], (IDS["cat"], IDS["dog"])),
        (list(IDS["cat"]), (IDS["cat"],)),
        ([list(IDS["cat"]), list(IDS["a"])], (IDS["cat"], IDS["a"])),
    ],
)
def test_the_input_of_an_embedding_takes_openais_four_forms(
    given: Any, prompts: tuple[Any, ...]
) -> None:
    assert asked(EMBEDDINGS, input=given).call.prompts == prompts


def test_a_score_computes_both_sides_and_a_rerank_its_query_first() -> None:
    score = asked(SCORE, text_1="cat", text_2=["dog", "a"])
    rerank = asked(RERANK, query="cat", documents=["dog", "a"])

    assert score.call.prompts == rerank.call.prompts == (IDS["cat"], IDS["dog"], IDS["a"])
    assert score.queries == rerank.queries == 1
    assert score.call.prompt_tokens == 7  # one token a byte: 3 + 3 + 1


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        (
            EMBEDDINGS,
            {},
            r"^input\[0\]: null \(allowed: a non-empty text or a list of token ids\)$",
        ),
        (EMBEDDINGS, {"input": []}, r"^input: \[\] \(allowed: a non-empty text"),
        (EMBEDDINGS, {"input": [""]}, r"^input\[0\]: \"\""),
        (EMBEDDINGS, {"input": [256]}, r"^input\[0\]: 256 \(allowed: token ids from 0 to 255\)$"),
        (EMBEDDINGS, {"input": "x", "dimensions": 8}, r"^dimensions: 8 \(allowed: leave it out\)$"),
        (EMBEDDINGS, {"input": "x", "normalize": False}, r"^normalize: false \(allowed: true, or"),
        (EMBEDDINGS, {"input": "x", "encoding_format": "int8"}, r"\(allowed: float, base64\)$"),
        (EMBEDDINGS, {"input": "x" * 129}, r"^text 0 has 129 tokens \(allowed: at most 128\)"),
        (EMBEDDINGS, {"input": ["x"] * (MAX_TEXTS + 1)}, r"2049 texts\" \(allowed: at most 2048"),
        (SCORE, {"text_1": "x"}, r"^text_2: null \(allowed: a text or a list of texts\)$"),
        (SCORE, {"text_1": ["x", "y"], "text_2": ["z"]}, r"^text_1: \"2 texts\" \(allowed: one"),
        (RERANK, {"query": 3, "documents": ["x"]}, r"^query: 3 "),
        (RERANK, {"query": "x", "documents": ["y"], "top_n": -1}, r"^top_n: -1 "),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(
    kind: str, body: dict[str, Any], message: str
) -> None:
    with pytest.raises(ApiProblem, match=message):
        asked(kind, **body)


def test_an_embedding_is_answered_as_floats_or_as_float32_bytes() -> None:
    vectors = [[0.6, 0.8], [1.0, 0.0]]

    plain = scoring_response.reply(asked(EMBEDDINGS, input=["cat", "a"]), vectors, model="m")
    packed = scoring_response.reply(
        asked(EMBEDDINGS, input=["cat", "a"], encoding_format="base64"), vectors, model="m"
    )

    assert [d["embedding"] for d in plain["data"]] == vectors
    assert [d["index"] for d in plain["data"]] == [0, 1]
    assert plain["usage"]["prompt_tokens"] == plain["usage"]["total_tokens"] == 4
    raw = base64.b64decode(packed["data"][0]["embedding"])
    assert struct.unpack("<2f", raw) == pytest.approx((0.6, 0.8), rel=1e-7)


def test_scores_are_cosines_pair_by_pair() -> None:
    one_to_two = asked(SCORE, text_1="cat", text_2=["dog", "a"])
    two_to_two = asked(SCORE, text_1=["cat", "a"], text_2=["dog", "a"])

    # unit vectors: (1, 0) . (0.6, 0.8) = 0.6 and (1, 0) . (0, 1) = 0
    first = scoring_response.reply(one_to_two, [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]], model="m")
    # and pair by pair: (1, 0) . (0.6, 0.8) = 0.6, (0, 1) . (0.6, 0.8) = 0.8
    pairs = scoring_response.reply(
        two_to_two, [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.6, 0.8]], model="m"
    )

    assert [d["score"] for d in first["data"]] == [0.6, 0.0]
    assert [d["score"] for d in pairs["data"]] == [0.6, 0.8]


@pytest.mark.parametrize(("top_n", "listed"), [(None, [1, 2, 0]), (2, [1, 2]), (0, [1, 2, 0])])
def test_a_rerank_lists_the_best_first(top_n: int | None, listed: list[int]) -> None:
    body = asked(RERANK, query="cat", documents=["a", "cat", "dog"], top_n=top_n)

    reply = scoring_response.reply(
        body, [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.6, 0.8]], model="m"
    )

    assert [r["index"] for r in reply["results"]] == listed
    assert reply["results"][0]["relevance_score"] == 1.0
    assert reply["results"][0]["document"] == {"text": "cat"}
