"""Eight items of a real run, each with the strongest evidence that it left and with nothing more."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from runners.engines.vllm.identity import items
from runners.protocol.documents import IDENTITY_ITEMS, IdentityItem
from tests.runners.engines.vllm import bundles


def by_name(folder: Path, **settings: Any) -> dict[str, IdentityItem]:
    found = items(bundles.evidence(folder, **settings))
    return {item["item"]: item for item in found}


def retraced(change: dict[str, Any]) -> bytes:
    document = json.loads(gzip.decompress((bundles.DATA / bundles.TRACE).read_bytes()))
    return gzip.compress(json.dumps(document | change).encode())


@pytest.mark.req("7.14", "7.11")
def test_a_real_run_evidences_all_eight_items(tmp_path: Path) -> None:
    found = by_name(bundles.lay(tmp_path / "bundle"))

    assert list(found) == list(IDENTITY_ITEMS)
    assert {name: item["strength"] for name, item in found.items()} == {
        "engine_version": "trace",
        "launch_configuration": "log",
        "model_runner": "trace",
        "attention_gemm_backend": "trace",
        "graph_compile_mode": "trace",
        "hardware_runtime": "log",
        "precision_path": "trace",
        "parallel_layout": "trace",
    }
    assert all(item["evidence"] and item["reason"] is None for item in found.values())


@pytest.mark.req("7.12", "7.13")
def test_the_attention_operator_is_counted_against_layers_and_steps(tmp_path: Path) -> None:
    item = by_name(bundles.lay(tmp_path / "bundle"))["attention_gemm_backend"]

    # 32 prompt tokens in one step and three decode steps: 4; 30 layers; 4 products a layer and the logits
    assert item["ran"]["attention_operators"] == {"_C::cpu_attention_with_kv_cache": 120}
    assert item["ran"]["gemm_operators"] == {"aten::mm": (4 * 30 + 1) * 4}
    conditions = item["evidence"][-1]["conditions"]
    assert conditions["steps"] == 4
    assert conditions["avx512"] is False
    assert "[[32, 9, 64], [364, 3, 128, 64], [364, 3, 128, 64]]" in conditions["attention_shapes"]


@pytest.mark.req("7.09")
@pytest.mark.forbids
def test_what_was_declared_is_not_what_ran(tmp_path: Path) -> None:
    found = by_name(bundles.lay(tmp_path / "bundle"), attention_backend="FLASHINFER")

    item = found["attention_gemm_backend"]
    assert item["declared"]["attention_backend"] == "FLASHINFER"
    assert "FLASHINFER" not in json.dumps(item["ran"])


@pytest.mark.req("7.12")
@pytest.mark.parametrize(
    "change", [{"vllm_version": "0.31.0"}, {"traceEvents": []}], ids=["version", "empty"]
)
def test_a_trace_that_does_not_add_up_proves_nothing(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    found = by_name(bundles.lay(tmp_path / "bundle", trace=retraced(change)))

    assert {item["strength"] for item in found.values()} == {"log"}
    assert "attention_operators" not in found["attention_gemm_backend"]["ran"]


def test_a_file_that_is_no_trace_leaves_what_the_log_says(tmp_path: Path) -> None:
    found = by_name(bundles.lay(tmp_path / "bundle", trace=b"not a trace"))

    assert {item["strength"] for item in found.values()} == {"log"}


def test_evidence_points_at_the_line_that_says_it(tmp_path: Path) -> None:
    bundle = bundles.lay(tmp_path / "bundle")
    lines = (bundle / "engine.log").read_text().splitlines()

    item = by_name(bundle)["parallel_layout"]

    (at, *_) = [e["pointer"] for e in item["evidence"] if e["pointer"] and "line" in e["pointer"]]
    assert "world_size=1 rank=0" in lines[at["line"] - 1]


@pytest.mark.req("7.10")
@pytest.mark.forbids
def test_lines_that_changed_their_form_leave_the_item_to_other_evidence(tmp_path: Path) -> None:
    text = bundles.log().replace("world_size=1 rank=0", "worlds=1 rank=0")
    text = text.replace("Initializing a V1 LLM engine", "Starting a V1 engine")

    found = by_name(bundles.lay(tmp_path / "bundle", text=text))

    assert "world_size" not in found["parallel_layout"]["ran"]
    assert "dtype" not in found["precision_path"]["ran"]
    assert found["precision_path"]["strength"] == "trace"  # the operators' own input types
