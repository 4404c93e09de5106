"""The third token count, and where the counts disagree."""

import gzip
import json
from collections.abc import Sequence

import pytest

from assay.analysis.absence import Absent
from assay.analysis.attempt_document import attempt_document
from assay.analysis.retokenized import NO_TOKENIZER, retokenize
from assay.analysis.token_counts import disagreement_words, disagreements
from assay.analysis.wire.attempt import Attempt
from assay.archive.tokenizer import counter_of
from runners.artifacts import tokenizer_file
from tests.fuzz.wire_invariants import read
from tests.runners.artifacts import real


def words(texts: Sequence[str]) -> list[int]:
    """A tokenizer whose tokens are words."""
    return [len(text.split()) for text in texts]


def reply(*deltas: dict[str, object], usage: int | None = None, ids: int | None = None) -> Attempt:
    choices = [{"index": n, "delta": delta} for n, delta in enumerate(deltas)]
    if ids is not None:
        choices[0]["token_ids"] = list(range(ids))
    document: dict[str, object] = {"choices": choices}
    if usage is not None:
        document["usage"] = {"completion_tokens": usage}
    return read([f"data: {json.dumps(document)}\n\ndata: [DONE]\n\n".encode()])


@pytest.mark.req("6.05")
def test_reasoning_and_the_answers_of_every_choice_are_counted_again() -> None:
    attempt = reply({"reasoning_content": "let me see", "content": "it is so"}, {"content": "yes"})

    retokenize([attempt], words)

    # 3 words of reasoning, 3 of the first answer, 1 of the second
    assert attempt.retokenized == 7
    assert attempt_document(attempt, None)["counts"]["retokenized"] == 7


@pytest.mark.parametrize(
    ("attempt", "counter", "reason"),
    [
        (reply({"content": "a"}), NO_TOKENIZER, "no pinned tokenizer came with this input"),
        (reply({"content": "a"}), Absent("withheld"), "withheld"),
        (reply({"content": ""}), words, "no text came"),
        (
            reply({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]}),
            words,
            "the server parsed tool calls out of the text: "
            "what was generated for them is not in the stream",
        ),
    ],
)
def test_where_nothing_can_be_counted_again_the_reason_stands(
    attempt: Attempt, counter: object, reason: str
) -> None:
    retokenize([attempt], counter)  # type: ignore[arg-type]  # a counter or an Absent

    document = attempt_document(attempt, None)
    assert document["counts"]["retokenized"] is None
    assert document["absent"]["counts.retokenized"] == reason


@pytest.mark.req("6.05")
def test_counts_that_disagree_are_shown_pair_by_pair() -> None:
    attempt = reply({"content": "a b"}, usage=3, ids=2)

    retokenize([attempt], words)

    # ids 2 and text 2 agree; the usage of 3 counts an end token that left neither
    assert disagreements(attempt) == [
        {"between": ["token_ids", "usage"], "values": [2, 3]},
        {"between": ["usage", "retokenized"], "values": [3, 2]},
    ]
    assert disagreement_words([attempt, reply({"content": "a"})]) == (
        "token counts that disagree in 1 attempt(s): token_ids and usage in 1, "
        "usage and retokenized in 1"
    )
    assert disagreement_words([reply({"content": "a"}, usage=1, ids=1)]) is None


@pytest.mark.req("5.12", "6.05")
def test_the_packed_tokenizer_counts_as_the_pinned_one_does() -> None:
    tokenizer = real.encoder().tokenizer
    texts = ["The capital of France is Paris.", "12 推理\n", "<|im_end|>", ""]

    packed = tokenizer_file.packed(tokenizer)
    count = counter_of(gzip.decompress(packed).decode())

    assert count(texts) == [len(tokenizer.encode(text)) for text in texts]
    assert packed == tokenizer_file.packed(real.encoder().tokenizer)
