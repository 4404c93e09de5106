"""What SGLang and TensorRT-LLM declarations must satisfy: field, seen, allowed and remedy of each finding."""

import copy
from functools import cache
from typing import Any

import pytest

from experiments.checks.engine import check
from experiments.checks.policy import Policy
from experiments.compose import compose
from tests.experiments.declarations import changed

SGLANG = ("study=smollm2_sglang",)
TENSORRT_LLM = (
    "study=smollm2_sglang",
    "engine=tensorrt_llm",
    f"engine.environment.lock_sha256={'0' * 64}",
    "device.kind=cuda",
)


@cache
def _composed(overrides: tuple[str, ...]) -> dict[str, Any]:
    return dict(compose(list(overrides)).document)


def findings(overrides: tuple[str, ...], *changes: tuple[str, Any]) -> dict[str, str]:
    document = copy.deepcopy(_composed(overrides))
    for path, value in changes:
        document = changed(document, path, value)
    return {f.field: f"{f.seen} (allowed: {f.allowed})" for f in check(document, Policy())}


@pytest.mark.parametrize("overrides", [SGLANG, TENSORRT_LLM], ids=["sglang", "tensorrt_llm"])
def test_the_shipped_group_holds(overrides: tuple[str, ...]) -> None:
    assert findings(overrides) == {}


@pytest.mark.parametrize("overrides", [SGLANG, TENSORRT_LLM], ids=["sglang", "tensorrt_llm"])
@pytest.mark.parametrize(
    ("path", "value", "allowed"),
    [
        ("engine.environment.kind", "platform", "venv"),
        ("engine.environment.lock_sha256", None, "the sha256 of the environment's lock"),
        ("engine.settings.dtype", "auto", "bfloat16, float16, float32"),
        ("engine.settings.dtype", "float16", "bfloat16, as artifact.precision.activations"),
        ("engine.settings.return_token_ids", True, "false"),
    ],
)
def test_what_both_are_held_to(
    overrides: tuple[str, ...], path: str, value: Any, allowed: str
) -> None:
    assert allowed in findings(overrides, (path, value))[path]


@pytest.mark.parametrize(
    ("setting", "value", "allowed"),
    [
        ("max_running_requests", 0, "at least 1"),
        ("max_queued_requests", -1, "null, or at least 0"),
        ("chunked_prefill_size", 0, "null, -1 for none, or at least 1"),
        ("mem_fraction_static", 1.5, "above 0, at most 1"),
        ("kv_dtype", "fp8_e4m3", "bfloat16, as artifact.precision.kv.dtype says"),
        ("decode_graph_sizes", [1], "none, because decode_graphs is disabled"),
        ("speculative_num_steps", 2, "null without speculative_algorithm"),
    ],
)
def test_what_sglang_is_held_to(setting: str, value: Any, allowed: str) -> None:
    path = f"engine.settings.{setting}"

    assert allowed in findings(SGLANG, (path, value))[path]


def test_mixing_needs_prompts_that_are_cut() -> None:
    found = findings(
        SGLANG,
        ("engine.settings.mixed_chunk", True),
        ("engine.settings.chunked_prefill_size", -1),
    )

    assert "false without chunked prefill" in found["engine.settings.mixed_chunk"]


def test_what_only_a_cpu_start_has_is_refused_on_a_device() -> None:
    assert list(findings(SGLANG, ("device.kind", "cuda"))) == ["engine.settings.threads"]


@pytest.mark.parametrize(
    ("path", "value", "allowed"),
    [
        ("device.kind", "cpu", "cuda"),
        ("engine.parallel.data", 2, "1"),
        ("engine.settings.max_num_tokens", 4, "at least max_batch_size (8)"),
        ("engine.settings.speculative_config", "[1]", "a JSON object"),
        ("engine.settings.kv_free_fraction", 0.0, "above 0, at most 1"),
    ],
)
def test_what_tensorrt_llm_is_held_to(path: str, value: Any, allowed: str) -> None:
    assert allowed in findings(TENSORRT_LLM, (path, value))[path]


def test_keys_of_its_file_are_json_and_graphs_are_asked_for_once() -> None:
    found = findings(
        TENSORRT_LLM,
        ("engine.settings.options", {"attn": "FLASHINFER"}),
        ("engine.settings.graphs", False),
        ("engine.settings.graph_padding", True),
    )

    assert list(found) == ["engine.settings.options.attn", "engine.settings.graphs"]
