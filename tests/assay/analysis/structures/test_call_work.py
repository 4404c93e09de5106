"""FLOPs of one call by hand: one layer, width 4, one head of 4, d_ff 8, vocabulary 10, gated, tied."""

import pytest

from assay.analysis.absence import Absent
from assay.analysis.structures.call_work import call_flops
from tests.experiments.declarations import example

# Of a token: q, k, v, o 4 x 4 each, gate, up, down 4 x 8 each: 2 (4 x 16 + 3 x 32) = 320 FLOP.
# Of a sampled row: 2 x 4 x 10 = 80. Of a query-key pair: 4 h d_head = 16.
TINY = {
    **example()["artifact"]["config"],
    "L": 1,
    "d_model": 4,
    "h": 1,
    "h_kv": 1,
    "d_head": 4,
    "d_ff": 8,
    "V": 10,
    "tie_word_embeddings": True,
}


@pytest.mark.req("1.12")
@pytest.mark.parametrize(
    ("prompt", "reused", "output", "expected"),
    [
        # 3 new tokens: 3 x 320, pairs 1 + 2 + 3 = 6 x 16, one sampled row; one output is no further step.
        (3, 0, 1, 960 + 96 + 80),
        # 2 of 3 reused: 1 x 320, 3 pairs, one row.
        (3, 2, 1, 320 + 48 + 80),
        # Three outputs: two more steps over 3 and 4 stored tokens, 4 and 5 pairs: 2 x (320 + 80) + 9 x 16.
        (3, 0, 3, 1136 + 800 + 144),
    ],
)
def test_a_call_is_its_unreused_prompt_and_a_step_for_each_further_token(
    prompt: int, reused: int, output: int, expected: int
) -> None:
    assert call_flops(TINY, prompt=prompt, reused=reused, output=output) == expected


@pytest.mark.parametrize("missing", ["prompt", "reused", "output"])
def test_an_unknown_count_leaves_the_work_unknown(missing: str) -> None:
    counts: dict[str, int | None] = {"prompt": 3, "reused": 0, "output": 1, missing: None}

    found = call_flops(TINY, **counts)

    assert isinstance(found, Absent)
    assert missing in found.reason
