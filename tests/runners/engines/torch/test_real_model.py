"""SmolLM2-135M in this process: the engine's tokens are transformers' own.

Stated tolerance: greedy tokens are equal; logits differ by at most 1e-3 of their largest, which is what other
matrix shapes do to float32 sums through 30 layers.
"""

from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, GgufConfig

from runners.engines.torch import attention_names
from runners.engines.torch.artifact_text import ArtifactText, read_text
from runners.engines.torch.core import Core
from runners.engines.torch.model import load
from runners.engines.torch.model_runner import ModelRunner
from tests.runners.engines.torch.configs import server_config
from tests.runners.engines.torch.launched import smollm2_file
from tests.runners.engines.torch.steps import Events, call, settings
from tests.runners.engines.torch.test_batching_numerics import Recorder

pytestmark = pytest.mark.engine
CONFIG = server_config(smollm2_file(), "gguf", kv_blocks=64, block_tokens=16, max_length=512)
TOKENS = 12
QUESTIONS = (
    "What is the capital of France?",
    "Write one sentence about the sea.",
    "Count from one to five, then stop and explain why you stopped.",
)


@pytest.fixture(scope="module")
def text() -> ArtifactText:
    return read_text(CONFIG)


@pytest.fixture(scope="module")
def model() -> Any:
    torch.set_num_threads(1)  # a second one waits at every barrier while other tests run
    return load(CONFIG).model


@pytest.fixture(scope="module")
def prompts(text: ArtifactText) -> list[list[int]]:
    return [text.encode_chat([{"role": "user", "content": question}]) for question in QUESTIONS]


@pytest.fixture(scope="module")
def generated(model: Any, prompts: list[list[int]]) -> list[list[int]]:
    """Greedy answers of transformers' own generate, its attention and cache, one request at a time."""
    model.set_attn_implementation("sdpa")
    rules = GenerationConfig(max_new_tokens=TOKENS, do_sample=False, pad_token_id=2, use_cache=True)
    answers = []
    for prompt in prompts:
        with torch.inference_mode():
            whole = model.generate(torch.tensor([prompt]), generation_config=rules)
        answers.append(whole[0, len(prompt) :].tolist())
    model.set_attn_implementation(attention_names.IMPLEMENTATION)
    return answers


@pytest.mark.slow
def test_a_changing_batch_gives_the_tokens_of_transformers_generate(
    model: Any, prompts: list[list[int]], generated: list[list[int]]
) -> None:
    """Chunked prompts, a join in mid-decode, and a neighbour that is cancelled in a shared step."""
    used = settings(kv_blocks=64, block_tokens=16, max_length=512, token_budget=24)
    recorder, events = Recorder(ModelRunner(model, used)), Events()
    core = Core(settings=used, model=recorder, log=events, eos_token_ids=())  # type: ignore[arg-type]
    core.submit(call("0", prompts[0], TOKENS), 0)
    core.submit(call("gone", prompts[0], TOKENS), 0)
    for _ in range(6):
        core.step()
    core.submit(call("1", prompts[1], TOKENS), 0)
    core.submit(call("2", prompts[2], TOKENS), 0)
    core.step()
    assert core.cancel("gone", asked_ns=0)
    while not core.idle:
        core.step()

    for name, wanted in zip("012", generated, strict=True):
        got = [int(row.argmax()) for row in recorder.logits[name]]
        assert got[: len(wanted)] == wanted  # generate ends at the end token, this core goes on
    assert core.pool.used == 0
    assert max(len(row["requests"]) for row in events.of("iteration")) >= 3


@pytest.mark.slow
def test_logits_in_a_batch_are_those_of_a_batch_of_one(
    model: Any, prompts: list[list[int]]
) -> None:
    used = settings(kv_blocks=64, block_tokens=16, max_length=512, token_budget=256)

    def run(*names: int) -> dict[str, list[torch.Tensor]]:
        recorder = Recorder(ModelRunner(model, used))
        core = Core(settings=used, model=recorder, log=Events(), eos_token_ids=())  # type: ignore[arg-type]
        for name in names:
            core.submit(call(str(name), prompts[name], 4), 0)
        while not core.idle:
            core.step()
        return recorder.logits

    together = run(0, 1, 2)

    for name in (0, 1, 2):
        for one, other in zip(together[str(name)], run(name)[str(name)], strict=True):
            assert float((one - other).abs().max()) <= 1e-3 * float(other.abs().max())
            assert int(one.argmax()) == int(other.argmax())


@pytest.mark.slow
def test_packed_weights_give_the_same_tokens(
    prompts: list[list[int]], generated: list[list[int]]
) -> None:
    config = server_config(
        smollm2_file(), "gguf", weights="packed", kv_blocks=64, block_tokens=16, max_length=512
    )
    loaded = load(config)
    recorder = Recorder(ModelRunner(loaded.model, config.settings))
    core = Core(settings=config.settings, model=recorder, log=Events(), eos_token_ids=())  # type: ignore[arg-type]
    core.submit(call("0", prompts[0], 8), 0)
    while not core.idle:
        core.step()

    assert [int(row.argmax()) for row in recorder.logits["0"]] == generated[0][:8]
    # the file's 98 MB: 4.5 and 8.5 bits a weight, norms in float32
    assert loaded.facts["weight_bytes_in_memory"] < 100_000_000


@pytest.mark.slow
def test_every_weight_is_the_one_that_transformers_reads(model: Any) -> None:
    path = smollm2_file()
    reference = AutoModelForCausalLM.from_pretrained(
        path.parent,
        gguf_file=path.name,
        quantization_config=GgufConfig(dequantize=True),
        dtype=torch.float32,
    )

    own, wanted = model.state_dict(), reference.state_dict()

    assert own.keys() == wanted.keys()
    assert all(torch.equal(own[name], wanted[name]) for name in wanted)
    assert torch.equal(model.model.rotary_emb.inv_freq, reference.model.rotary_emb.inv_freq)
    assert model.config.rms_norm_eps == reference.config.rms_norm_eps


def test_the_template_is_expanded_as_transformers_expands_it(text: ArtifactText) -> None:
    path = smollm2_file()
    reference = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    messages = [{"role": "user", "content": "Hi: naïve 東京 123"}]

    wanted = reference.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)

    assert text.encode_chat(messages) == wanted
    assert text.eos_token_ids == (reference.eos_token_id,)
