"""Iterations and graph use out of the recorded log."""

import pytest

from runners.engines.vllm.iteration_lines import dispatch, is_iteration, iteration
from runners.engines.vllm.log_lines import read_lines
from tests.runners.engines.vllm.declared import FIXTURES

LINE = (
    "Engine 000: Iteration(5): 1 context requests, 43 context tokens, 1 generation requests, "
    "1 generation tokens, iteration elapsed time: 1312.01 ms, CPU KV cache usage: 0.6%"
)


def test_the_recorded_burst_has_36_iterations_with_the_tokens_that_ran() -> None:
    messages = [line.message for line in read_lines(FIXTURES / "requests_burst.log")]

    found = [row for m in messages if (row := iteration(m, blocks=364)) is not None][4:]

    assert [row["number"] for row in found] == list(range(4, 40))
    # prompts of r1, r2, r3, r5: 38 + 43 + 34 + 37; the request that left the queue was never computed
    assert sum(row["prefill_tokens"] for row in found) == 152
    assert sum(is_iteration(m) for m in messages) == 40


def test_an_iteration_has_counts_its_duration_and_the_blocks_in_use() -> None:
    found = iteration(LINE, blocks=364)

    # 1312.01 ms; 0.6 % of 363 blocks = 2.18, which only 2 blocks print as
    assert found == {
        "number": 5,
        "prefill_requests": 1,
        "prefill_tokens": 43,
        "decode_requests": 1,
        "decode_tokens": 1,
        "duration_ns": 1_312_010_000,
        "kv_usage": 0.006,
        "kv_used": 2,
        "kv_total": 363,
    }


@pytest.mark.parametrize("blocks", [None, 1, 1000, 50_000])
def test_blocks_are_not_guessed_where_one_decimal_cannot_tell_them_apart(
    blocks: int | None,
) -> None:
    found = iteration(LINE, blocks=blocks)

    assert found is not None
    assert "kv_used" not in found


@pytest.mark.parametrize(
    "message",
    [
        LINE.replace("context tokens", "prompt tokens"),
        LINE.replace("1312.01 ms", "1.312 s"),
        LINE.replace(", CPU KV cache usage: 0.6%", ""),
        LINE.replace("ms,", "ms (dummy),"),
    ],
)
def test_another_form_is_no_iteration(message: str) -> None:
    assert iteration(message, blocks=364) is None
    assert is_iteration(message)


@pytest.mark.req("7.04")
def test_a_row_of_the_graph_table_says_padding_and_mode() -> None:
    row = "| 5               | 8             | 3            | FULL         | 12    |"

    assert dispatch(row) == {"tokens": 5, "padded": 8, "paddings": 3, "count": 12, "mode": "FULL"}
    assert (
        dispatch("| Unpadded Tokens | Padded Tokens | Num Paddings | Runtime Mode | Count |")
        is None
    )


@pytest.mark.req("7.04")
def test_the_recorded_burst_ran_every_shape_eagerly() -> None:
    rows = [
        row
        for line in read_lines(FIXTURES / "requests_burst.log")
        if (row := dispatch(line.message)) is not None
    ]

    assert {row["mode"] for row in rows} == {"NONE"}
    # the first table: 8 + 3 + 1 + 1 + 1 steps, of 2, 1, 4, 38 and 44 tokens
    assert [(row["tokens"], row["count"]) for row in rows[:5]] == [
        (2, 8),
        (1, 3),
        (4, 1),
        (38, 1),
        (44, 1),
    ]
