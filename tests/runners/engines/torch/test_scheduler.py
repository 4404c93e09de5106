"""Who runs in the next step, and what happens when the blocks run out."""

import random
from typing import Any

import pytest

from tests.runners.engines.torch.steps import Rig, answer, call, rig


def sizes(made: Rig) -> list[dict[str, int]]:
    """Tokens by request of every step so far."""
    return [dict(step) for step in made.model.steps]


def test_a_long_prompt_is_cut_to_the_token_budget() -> None:
    made = rig(token_budget=16)
    made.submit(call("a", range(40), 1))

    made.drain()

    # 40 tokens = 16 + 16 + 8; the last chunk gives the only token
    assert sizes(made) == [{"a": 16}, {"a": 16}, {"a": 8}]
    assert made.tokens["a"] == answer(range(40), 1)


def test_decoding_requests_come_before_prompts() -> None:
    made = rig(token_budget=16)
    made.submit(call("a", range(4), 5))
    made.step()
    made.submit(call("b", range(40), 1))

    made.step()

    # one token of a, the rest of the budget for b
    assert sizes(made)[1] == {"a": 1, "b": 15}


def test_requests_are_admitted_in_order_of_arrival() -> None:
    made = rig(max_batch=2)
    made.submit(*(call(name, range(3), 3) for name in "abcd"))

    made.drain()

    order = [row["request"] for row in made.events.of("scheduled")]
    assert order == ["a", "b", "c", "d"]


def test_the_batch_is_bounded() -> None:
    made = rig(max_batch=2)
    made.submit(*(call(name, range(3), 4) for name in "abcde"))

    made.drain()

    assert max(len(step) for step in made.model.steps) == 2
    assert made.events.of("iteration")[0]["held_by"] == "batch"


def test_a_step_never_takes_more_than_its_budget() -> None:
    made = rig(token_budget=10, max_batch=4)
    made.submit(*(call(name, range(9), 6) for name in "abcdef"))

    made.drain()

    assert max(sum(step.values()) for step in sizes(made)) == 10


def test_with_wait_a_running_request_never_stalls() -> None:
    # 8 blocks of 4 tokens. Each request may grow to 8 + 8 = 16 tokens = 4 blocks: two fit, the third waits.
    made = rig(kv_blocks=8, token_budget=32, when_out_of_blocks="wait")
    made.submit(*(call(name, range(8), 8) for name in "abc"))

    made.step()

    assert made.events.of("iteration")[0]["held_by"] == "blocks"
    made.drain()
    assert made.events.of("preempted") == []
    steps_of_a = [step for step in made.model.steps if "a" in dict(step)]
    # one step for the prompt and seven for the other tokens, without a hole between them
    assert len(steps_of_a) == 8
    assert made.model.steps[:8] == steps_of_a


def test_with_wait_the_head_of_the_queue_is_not_overtaken() -> None:
    made = rig(kv_blocks=8, when_out_of_blocks="wait")
    made.submit(call("big", range(20), 8), call("bigger", range(20), 8), call("small", range(2), 2))

    made.step()

    # small would fit beside big, but bigger came first
    assert dict(made.model.steps[0]).keys() == {"big"}
    made.drain()
    assert [row["request"] for row in made.events.of("scheduled")] == ["big", "bigger", "small"]


def test_with_preempt_the_newest_gives_its_blocks_back_and_is_computed_again() -> None:
    # 4 blocks of 4 tokens: a and b hold one each and grow; together they need 2 x ceil(12/4) = 6
    made = rig(kv_blocks=4, when_out_of_blocks="preempt")
    made.submit(call("a", range(4), 8), call("b", range(10, 14), 8))

    made.drain()

    assert {row["request"] for row in made.events.of("preempted")} == {"b"}
    again = [row for row in made.events.of("scheduled", "b") if row["recompute"]]
    assert len(again) == len(made.events.of("preempted", "b"))
    recomputed = [
        entry["recomputed"]
        for row in made.events.of("iteration")
        for entry in row["requests"]
        if entry["request"] == "b"
    ]
    assert sum(recomputed) == made.events.of("preempted", "b")[0]["computed"]
    made.core.pool.check()


def test_preemption_does_not_change_an_answer() -> None:
    made = rig(kv_blocks=4, when_out_of_blocks="preempt")
    made.submit(call("a", range(4), 8), call("b", range(10, 14), 8))

    made.drain()

    assert made.tokens == {"a": answer(range(4), 8), "b": answer(range(10, 14), 8)}


def test_a_preempted_request_goes_before_those_that_never_ran() -> None:
    # c needs 3 blocks at once and finds 2 free beside a and b
    made = rig(kv_blocks=4, when_out_of_blocks="preempt")
    made.submit(call("a", range(4), 8), call("b", range(4), 8), call("c", range(12), 2))

    made.drain()

    order = [row["request"] for row in made.events.of("scheduled")]
    assert order == ["a", "b", "b", "c"]


@pytest.mark.parametrize("answer_to_want", ["wait", "preempt"])
def test_no_block_is_lost_after_a_thousand_random_requests(answer_to_want: str) -> None:
    """Joins, leaves and cancels in every phase; each answer is what the request gets alone."""
    chance = random.Random(20261129)
    made = rig(
        kv_blocks=24, max_batch=6, token_budget=20, when_out_of_blocks=answer_to_want, max_length=96
    )
    prompts: dict[str, tuple[int, ...]] = {}
    wanted: dict[str, int] = {}
    cancelled: set[str] = set()
    for number in range(1000):
        request = f"r{number}"
        prompts[request] = tuple(chance.randrange(1000) for _ in range(chance.randint(1, 40)))
        wanted[request] = chance.randint(1, 30)
        made.submit(call(request, prompts[request], wanted[request]))
        for _ in range(chance.randint(0, 6)):
            made.step()
        if chance.random() < 0.2 and made.core.requests:
            victim = chance.choice(made.core.requests)
            assert made.core.cancel(victim, asked_ns=0)
            cancelled.add(victim)
        made.core.pool.check()
    made.drain(100_000)

    made.core.pool.check()
    assert made.core.pool.used == 0
    assert made.finished.keys() | cancelled == prompts.keys()
    assert not made.finished.keys() & cancelled
    for request, count in wanted.items():
        got = made.tokens.get(request, [])
        expected = answer(prompts[request], count)
        assert got == expected[: len(got)]
        assert request in cancelled or len(got) == count
    assert _net_blocks(made.events.rows) == 0
    preempted = made.events.of("preempted")
    assert bool(preempted) == (answer_to_want == "preempt")


def _net_blocks(rows: list[dict[str, Any]]) -> int:
    """Blocks taken minus blocks released, by the log alone; ``used`` must agree after each line."""
    net = 0
    for row in rows:
        if row["event"] in ("kv_taken", "kv_released"):
            net += row["blocks"] if row["event"] == "kv_taken" else -row["blocks"]
            assert 0 <= net <= row["total"]
    return net
