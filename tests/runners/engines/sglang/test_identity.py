"""Eight items from the recorded start, answer and trace, each with its strongest evidence and no more."""

import json
from pathlib import Path
from typing import Any

import pytest

from runners.engines.sglang.environment import UNSUPPORTED
from runners.engines.sglang.identity import items
from runners.protocol.documents import IDENTITY_ITEMS, IdentityItem
from tests.runners.engines.sglang import recorded
from tests.runners.engines.sglang.declared import spec

START = recorded.log("startup.log")


def by_name(
    folder: Path, text: str = START, *, document: dict[str, Any] | None = None
) -> dict[str, IdentityItem]:
    found = items(recorded.evidence(folder, text, document=document))
    return {item["item"]: item for item in found}


@pytest.mark.req("7.14", "7.11")
def test_the_recorded_run_evidences_all_eight_items(tmp_path: Path) -> None:
    recorded.write_trace(tmp_path)

    found = by_name(tmp_path)

    assert list(found) == list(IDENTITY_ITEMS)
    assert {name: item["strength"] for name, item in found.items()} == {
        "engine_version": "log",  # the trace does not carry the engine's version
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
    recorded.write_trace(tmp_path)

    item = by_name(tmp_path)["attention_gemm_backend"]

    # one prefill step of 8 computed tokens and seven decode steps: 8; 30 layers
    attention = "aten::_scaled_dot_product_flash_attention_for_cpu"
    assert item["ran"]["attention_operators"] == {attention: 240}
    assert item["ran"]["gemm_operators"] == {"aten::mm": 968}
    evidence = item["evidence"][-1]
    assert "240 times = 30 layers x 8 steps" in evidence["statement"]
    assert evidence["conditions"]["batches"] == [
        "DECODE 1 requests (1 tokens)",
        "EXTEND 1 requests (8 tokens)",  # of 36 prompt tokens, 28 came from the cache
    ]


@pytest.mark.req("7.12")
def test_a_trace_that_does_not_add_up_proves_nothing(tmp_path: Path) -> None:
    recorded.write_trace(tmp_path, attention=239)

    found = by_name(tmp_path)

    assert {item["strength"] for item in found.values()} == {"log"}


def test_a_file_that_is_no_trace_leaves_what_the_log_says(tmp_path: Path) -> None:
    recorded.write_trace(tmp_path).write_bytes(b"not a trace")

    assert {item["strength"] for item in by_name(tmp_path).values()} == {"log"}


@pytest.mark.req("7.09")
@pytest.mark.forbids
def test_what_was_declared_is_not_what_ran(tmp_path: Path) -> None:
    found = by_name(tmp_path, document=spec(attention_backend="fa3"))

    item = found["attention_gemm_backend"]
    assert item["declared"]["attention_backend"] == "fa3"
    assert item["ran"]["attention_backend"] == "torch_native"


def test_every_item_of_a_cpu_start_says_that_it_is_no_supported_configuration(
    tmp_path: Path,
) -> None:
    recorded.write_trace(tmp_path)

    found = by_name(tmp_path)

    assert {item["ran"]["configuration"] for item in found.values()} == {UNSUPPORTED}
    assert found["engine_version"]["ran"]["stand_ins"] == ["torchvision", "sgl_kernel"]
    traced = found["attention_gemm_backend"]["evidence"][-1]
    assert traced["conditions"]["configuration"] == UNSUPPORTED


def test_a_start_on_a_device_is_not_marked(tmp_path: Path) -> None:
    document = spec()
    document["device"]["kind"] = "cuda"

    found = by_name(tmp_path, document=document)

    assert "stand-ins" not in json.dumps([item["ran"] for item in found.values()])


def test_evidence_points_at_the_line_that_says_it(tmp_path: Path) -> None:
    item = by_name(tmp_path)["hardware_runtime"]

    pointers = [e["pointer"] for e in item["evidence"] if e["pointer"] is not None]
    (line, *_) = [pointer["line"] for pointer in pointers if "line" in pointer]
    assert "#tokens: 16384" in START.splitlines()[line - 1]


@pytest.mark.req("7.10")
@pytest.mark.forbids
def test_lines_that_changed_their_form_leave_the_item_to_other_evidence(tmp_path: Path) -> None:
    text = START.replace("server_args={", "arguments={").replace("#tokens: ", "#pages: ")

    found = by_name(tmp_path, text)

    assert "kv_tokens" not in found["hardware_runtime"]["ran"]
    assert found["hardware_runtime"]["ran"]["max_total_num_tokens"] == 16384  # what it answered
    assert found["launch_configuration"]["ran"] is None
