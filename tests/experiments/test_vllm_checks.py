"""What a vLLM declaration must satisfy, each finding with field, seen, allowed and remedy."""

import copy
from functools import cache
from typing import Any

import pytest

from experiments.checks.engine import check
from experiments.checks.policy import Policy
from experiments.compose import compose
from tests.experiments.declarations import changed


@cache
def _composed() -> dict[str, Any]:
    return dict(compose(["study=smollm2_vllm"]).document)


def findings(path: str | None = None, value: Any = None) -> dict[str, str]:
    document = copy.deepcopy(_composed())
    if path is not None:
        document = changed(document, path, value)
    return {f.field: f"{f.seen} (allowed: {f.allowed})" for f in check(document, Policy())}


def test_the_ready_study_holds() -> None:
    assert findings() == {}


@pytest.mark.parametrize(
    ("path", "value", "allowed"),
    [
        ("engine.environment.kind", "platform", "venv"),
        ("engine.environment.lock_sha256", None, "the sha256 of the environment's lock"),
        ("engine.settings.max_num_seqs", 0, "at least 1"),
        ("engine.settings.block_size", 0, "null, or at least 1"),
        ("engine.settings.max_num_queued_reqs", -1, "null, or at least 0"),
        ("engine.settings.max_num_batched_tokens", 1, "at least max_num_seqs (2)"),
        ("engine.settings.graph_mode", "full", "because enforce_eager is true"),
        ("engine.settings.speculative_config", "[1]", "a JSON object"),
        ("engine.settings.speculative_config", "{", "a JSON object"),
        ("engine.settings.dtype", "auto", "bfloat16, float16, float32"),
        ("engine.settings.dtype", "float16", "bfloat16, as artifact.precision.activations"),
        ("engine.settings.kv_dtype", "fp8", "bfloat16, as artifact.precision.kv.dtype says"),
        ("engine.settings.gpu_memory_utilization", 0.9, "null on cpu"),
    ],
)
def test_each_setting_is_held_to_what_it_allows(path: str, value: Any, allowed: str) -> None:
    found = findings(path, value)

    assert allowed in found[path]


def test_a_prompt_that_is_not_cut_must_fit_into_one_step() -> None:
    document = changed(_composed(), "engine.settings.enable_chunked_prefill", False)
    document = changed(document, "engine.settings.max_num_batched_tokens", 1024)

    (finding,) = check(document, Policy())

    assert finding.allowed == "at least max_model_len (2048) without chunked prefill"


def test_a_flag_is_named_without_its_dashes() -> None:
    assert list(findings("engine.settings.flags", {"--stream-interval": "4"})) == [
        "engine.settings.flags.--stream-interval"
    ]


def test_what_only_a_cpu_build_has_is_refused_on_a_device() -> None:
    document = changed(_composed(), "device.kind", "cuda")

    fields = {f.field for f in check(document, Policy())}

    assert fields == {"engine.settings.threads", "engine.settings.thread_binding"}
