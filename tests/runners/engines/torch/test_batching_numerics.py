"""A request's logits do not depend on its company.

Tiny random model; float32, tolerance 2e-4 of the largest logit: that is what other matrix shapes do to
float32 sums, while a wrong mask or block is off by whole units.
"""

import pytest
import torch

from runners.engines.torch.core import Core
from runners.engines.torch.kv_blocks import BlockPool
from runners.engines.torch.model_runner import ModelRunner
from runners.engines.torch.scheduler import Segment
from tests.runners.engines.torch import tiny
from tests.runners.engines.torch.steps import Events, call, settings

pytestmark = pytest.mark.engine
TOLERANCE = 2e-4
PROMPTS = {
    "a": [5, 9, 200, 31, 77, 4, 18],
    "b": list(range(20, 53)),
    "c": [250],
    "d": [3, 3, 3, 3],
}


class Recorder:
    """A runner that keeps the logits of every emitted token."""

    def __init__(self, made: ModelRunner) -> None:
        self.made = made
        self.logits: dict[str, list[torch.Tensor]] = {}

    def run(self, segments: list[Segment], pool: BlockPool) -> list[int]:
        rows = self.made.logits(segments, pool)
        emitting = [s.running.request for s in segments if s.emits]
        for request, row in zip(emitting, rows, strict=True):
            self.logits.setdefault(request, []).append(row)
        return [int(row.argmax()) for row in rows]

    def forget(self, request: str) -> None:
        """Nothing is kept by request."""


@pytest.fixture(scope="module")
def made() -> ModelRunner:
    return tiny.runner()


def core_of(made: ModelRunner, **changed: object) -> tuple[Core, Recorder, Events]:
    recorder, events = Recorder(made), Events()
    core = Core(settings=settings(**changed), model=recorder, log=events, eos_token_ids=())  # type: ignore[arg-type]
    return core, recorder, events


def alone(made: ModelRunner, name: str, count: int = 12) -> list[torch.Tensor]:
    """Logits of each answered token of a request that has the engine to itself, prompt in one piece."""
    core, recorder, _ = core_of(made, token_budget=64)
    core.submit(call(name, PROMPTS[name], count), 0)
    while not core.idle:
        core.step()
    return recorder.logits[name]


def assert_same(got: list[torch.Tensor], wanted: list[torch.Tensor]) -> None:
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted, strict=True):
        scale = float(other.abs().max())
        assert float((one - other).abs().max()) <= TOLERANCE * scale
        assert int(one.argmax()) == int(other.argmax())


def test_one_step_equals_transformers_own_attention(made: ModelRunner) -> None:
    reference = tiny.model(paged=False)
    for prompt in PROMPTS.values():
        with torch.inference_mode():
            wanted = reference(input_ids=torch.tensor([prompt]), use_cache=False).logits[0, -1]

        assert_same([tiny.last_logits(made, prompt)], [wanted])


def test_a_request_in_a_changing_batch_equals_a_batch_of_one(made: ModelRunner) -> None:
    """b joins in mid-decode, c leaves early, d is cancelled inside the shared batch."""
    core, recorder, events = core_of(made)
    core.submit(call("a", PROMPTS["a"], 12), 0)
    core.submit(call("c", PROMPTS["c"], 3), 0)
    core.submit(call("d", PROMPTS["d"], 12), 0)
    for _ in range(2):
        core.step()
    core.submit(call("b", PROMPTS["b"], 12), 0)
    core.step()
    assert core.cancel("d", asked_ns=0)
    while not core.idle:
        core.step()

    assert_same(recorder.logits["a"], alone(made, "a"))
    assert_same(recorder.logits["b"], alone(made, "b"))
    assert_same(recorder.logits["c"], alone(made, "c", 3))
    core.pool.check()
    assert core.pool.used == 0
    companies = {frozenset(r["request"] for r in row["requests"]) for row in events.of("iteration")}
    assert len(companies) >= 4  # the batch did change


@pytest.mark.parametrize("budget", [4, 7, 33])
def test_a_prompt_in_chunks_equals_a_prompt_in_one_piece(made: ModelRunner, budget: int) -> None:
    core, recorder, events = core_of(made, token_budget=budget)
    core.submit(call("b", PROMPTS["b"], 12), 0)
    while not core.idle:
        core.step()

    assert_same(recorder.logits["b"], alone(made, "b"))
    chunks = [row["requests"][0]["tokens_in"] for row in events.of("iteration")][:-11]
    assert sum(chunks) == len(PROMPTS["b"])
    assert len(chunks) == -(-len(PROMPTS["b"]) // budget)


def test_a_preempted_request_equals_an_undisturbed_one(made: ModelRunner) -> None:
    core, recorder, events = core_of(made, kv_blocks=7)  # 28 tokens: d alone fits, not beside a
    core.submit(call("a", PROMPTS["a"], 12), 0)
    core.submit(call("d", PROMPTS["d"], 24), 0)
    while not core.idle:
        core.step()

    assert events.of("preempted")
    assert_same(recorder.logits["a"], alone(made, "a"))
    assert_same(recorder.logits["d"], alone(made, "d", 24))


def test_very_unequal_lengths_are_attended_in_groups_and_stay_right(made: ModelRunner) -> None:
    core, recorder, _ = core_of(tiny.runner(kv_blocks=64), kv_blocks=64, max_length=256)
    long = [(7 * n) % 290 for n in range(120)]
    core.submit(call("long", long, 6), 0)
    core.submit(call("c", PROMPTS["c"], 14), 0)
    while not core.idle:
        core.step()

    assert_same(recorder.logits["c"], alone(made, "c", 14))


def test_a_narrower_cache_is_close_and_not_equal() -> None:
    prompt = PROMPTS["b"]
    wide = tiny.last_logits(tiny.runner(), prompt)

    narrow = tiny.last_logits(tiny.runner(kv_dtype="bfloat16"), prompt)

    error = float((wide - narrow).abs().max() / wide.abs().max())
    assert 1e-5 < error < 0.05
