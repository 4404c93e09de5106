"""Texts whose vectors are asked for are scheduled as sequences and answered as one request."""

from typing import Any

import pytest

from runners.engines.torch.calls import PooledCall
from tests.runners.engines.torch.steps import Rig, answer, call, rig


def pooled(request: str, *lengths: int) -> PooledCall:
    """Texts of these lengths; text k holds the token k + 1 only, so that its sum tells it apart."""
    return PooledCall(request=request, prompts=tuple((k + 1,) * n for k, n in enumerate(lengths)))


def run(*calls: PooledCall, **changed: Any) -> Rig:
    made = rig(**changed)
    for entry in calls:
        made.core.submit_pooled(entry, 0)
    made.drain()
    return made


def test_each_text_gets_its_own_vector_in_the_order_asked() -> None:
    made = run(pooled("a", 3, 7, 1))

    # [tokens, their sum]: 3 x 1, 7 x 2, 1 x 3
    assert made.vectors == {"a": [[3.0, 3.0], [7.0, 14.0], [1.0, 3.0]]}


def test_a_text_that_is_cut_into_steps_is_pooled_whole() -> None:
    made = run(pooled("a", 41), token_budget=16)

    assert len(made.model.steps) == 3  # 16 + 16 + 9
    assert made.vectors == {"a": [[41.0, 41.0]]}


def test_a_preempted_text_starts_over_and_counts_no_token_twice() -> None:
    # 4 blocks of 4: an answer that grows to its second block leaves two for a text that needs three
    made = rig(token_budget=4, kv_blocks=4)
    made.submit(call("g", (5, 6), 6))
    made.core.submit_pooled(pooled("a", 12), 0)

    made.drain()

    assert made.events.of("preempted", "a")[0]["computed"] == 8
    assert [row["recompute"] for row in made.events.of("scheduled", "a")] == [False, True]
    assert made.vectors == {"a": [[12.0, 12.0]]}


def test_texts_share_steps_with_each_other_and_with_generation() -> None:
    made = rig(token_budget=16)
    made.submit(call("g", (5, 6), 3))
    made.core.submit_pooled(pooled("a", 4, 4), 0)

    made.drain()

    assert made.model.steps[0] == [("g", 2), ("a#0", 4), ("a#1", 4)]
    assert made.tokens["g"] == answer((5, 6), 3)
    assert made.vectors == {"a": [[4.0, 4.0], [4.0, 8.0]]}


def test_the_request_is_queued_scheduled_and_finished_once() -> None:
    made = run(pooled("a", 3, 7, 5), max_batch=2)

    for event in ("queued", "scheduled", "finished"):
        assert [r["request"] for r in made.events.of(event)] == ["a"], event
    assert made.events.of("queued")[0]["prompt_tokens"] == 15
    finished = made.events.of("finished")[0]
    assert (finished["reason"], finished["prompt_tokens"], finished["tokens_out"]) == (
        "pooled",
        15,
        0,
    )
    assert finished["sequences"] == 3
    assert made.events.of("first_token") == []


def test_blocks_of_all_texts_are_taken_and_given_back_under_the_request() -> None:
    made = run(pooled("a", 3, 7), block_tokens=4)

    # 3 tokens are 1 block, 7 are 2
    assert sum(r["blocks"] for r in made.events.of("kv_taken", "a")) == 3
    assert sum(r["blocks"] for r in made.events.of("kv_released", "a")) == 3
    assert made.core.pool.used == 0


def test_a_step_names_a_request_once_with_the_tokens_of_its_texts_together() -> None:
    made = run(pooled("a", 3, 7))

    (step,) = made.events.of("iteration")
    assert step["requests"] == [
        {
            "request": "a",
            "tokens_in": 10,
            "tokens_out": 0,
            "context": 10,
            "phase": "prefill",
            "recomputed": 0,
            "sequences": 2,
        }
    ]


@pytest.mark.req("8.11")
def test_a_cancel_drops_every_text_and_is_recorded_once() -> None:
    made = rig(token_budget=4, max_batch=2)
    made.core.submit_pooled(pooled("a", 8, 8, 8), 0)
    made.step()

    assert made.core.cancel("a", asked_ns=0)
    made.drain()

    assert [r["request"] for r in made.events.of("cancelled")] == ["a"]
    assert made.core.pool.used == 0
    assert made.vectors == {}
    assert not made.core.cancel("a", asked_ns=0)


def test_texts_past_the_time_limit_end_together() -> None:
    made = rig(token_budget=4, max_request_s=1.0)
    made.core.submit_pooled(pooled("a", 8, 8), 0)
    made.step()

    assert made.core.expire(2_000_000_000) == ["a"]
    assert made.core.idle
    assert [r["request"] for r in made.events.of("failed")] == ["a"]
