"""Eight items, each with the strongest evidence this run left and with nothing more than that."""

import json
from pathlib import Path
from typing import Any

import pytest

from runners.engines.base import EvidenceContext
from runners.engines.torch.identity import items
from runners.engines.torch.log_reader import read_log
from runners.protocol.documents import IDENTITY_ITEMS, IdentityItem
from tests.runners.engines.torch import traces
from tests.runners.engines.torch.launched import spec

ECHOES: dict[str, Any] = {
    "engine_version": {"version": "2.13.0", "engine": "assay-torch", "build": "abc"},
    "launch_configuration": {"settings": {"max_batch": 8}},
    "model_runner": {"class": "LlamaForCausalLM", "layers": traces.LAYERS},
    "attention_gemm_backend": {"attention": "assay_paged"},
    "graph_compile_mode": {"mode": "eager"},
    "hardware_runtime": {"cpu_capability": "AVX512", "torch_threads": 2},
    "precision_path": {"compute": "float32", "weights_in_file": "gguf"},
    "parallel_layout": {"tensor_parallel": 1},
}
TRACED = {
    "model_runner",
    "attention_gemm_backend",
    "graph_compile_mode",
    "precision_path",
    "parallel_layout",
}


def write_log(bundle: Path, echoes: dict[str, Any]) -> None:
    lines = ["2026-11-29T21:00:00.000Z INFO    [front 1] assay-torch, torch 2.13.0"]
    lines += [
        f"2026-11-29T21:00:01.000Z INFO    [loop 2] {label}: {json.dumps(value)}"
        for label, value in echoes.items()
    ]
    (bundle / "engine.log").write_text("\n".join([*lines, "engine_version: {cut"]))


def context(bundle: Path, **changed: Any) -> EvidenceContext:
    values: dict[str, Any] = {"server_info": None, "version": "2.13.0"}
    return EvidenceContext(
        spec=spec(), bundle=bundle, base_url="http://127.0.0.1:1", **(values | changed)
    )


def by_name(found: list[IdentityItem]) -> dict[str, IdentityItem]:
    return {item["item"]: item for item in found}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    write_log(tmp_path, ECHOES)
    traces.write(tmp_path / "trace" / "torch-01.trace.json.gz", traces.two_steps())
    return tmp_path


def test_the_log_gives_each_echo_with_its_line(bundle: Path) -> None:
    echoes = read_log(bundle / "engine.log")

    assert echoes["engine_version"].line == 2
    assert echoes["parallel_layout"].line == 9
    assert echoes["engine_version"].value["build"] == "abc"
    assert set(echoes) == set(ECHOES)


@pytest.mark.req("7.11", "7.14")
def test_all_eight_items_have_evidence_of_a_stated_strength(bundle: Path) -> None:
    found = items(context(bundle))

    assert [item["item"] for item in found] == list(IDENTITY_ITEMS)
    for item in found:
        assert item["strength"] == ("trace" if item["item"] in TRACED else "log"), item["item"]
        assert item["ran"] is not None
        assert item["reason"] is None
        for evidence in item["evidence"]:
            assert evidence["engine_version"] == "2.13.0"


@pytest.mark.req("7.12")
def test_the_attention_evidence_counts_layers_times_steps(bundle: Path) -> None:
    item = by_name(items(context(bundle)))["attention_gemm_backend"]

    log, trace = item["evidence"]
    assert log["pointer"] == {"file": "engine.log", "line": 5}
    assert trace["pointer"] is not None
    assert trace["pointer"]["file"] == "trace/torch-01.trace.json.gz"
    assert "6 times = 3 layers x 2 steps" in trace["statement"]
    assert item["ran"]["attention_operators"] == {traces.FLASH: 6}
    assert item["ran"]["gemm_operators"] == {"aten::mm": 12}


@pytest.mark.req("7.13")
def test_trace_evidence_carries_the_conditions_it_holds_for(bundle: Path) -> None:
    evidence = by_name(items(context(bundle)))["precision_path"]["evidence"][-1]

    conditions = evidence["conditions"]
    assert conditions["batches"] == ["decode=0 prefill=1 tokens=9", "decode=1 prefill=0 tokens=1"]
    assert conditions["gemm_shapes"] == {"[[1, 576], [576, 576]]": 12}
    assert conditions["cpu_capability"] == "AVX512"
    assert conditions["steps"] == 2


@pytest.mark.req("5.25")
@pytest.mark.forbids
def test_the_precision_that_ran_is_read_from_inputs_and_not_from_the_file(tmp_path: Path) -> None:
    """A GGUF file declared as float32 whose products took bfloat16: the trace says what ran."""
    write_log(tmp_path, ECHOES)
    events = traces.two_steps(kind="c10::BFloat16")
    traces.write(tmp_path / "trace" / "torch-01.trace.json.gz", events)

    item = by_name(items(context(tmp_path)))["precision_path"]

    assert item["ran"]["gemm_inputs"] == {'["c10::BFloat16", "c10::BFloat16"]': 12}
    assert item["declared"]["weights"] == "dequantized"


@pytest.mark.req("7.09")
@pytest.mark.forbids
def test_a_trace_whose_counts_do_not_add_up_proves_nothing(tmp_path: Path) -> None:
    write_log(tmp_path, ECHOES)
    one_layer_short = traces.two_steps(layers=traces.LAYERS - 1)
    traces.write(tmp_path / "trace" / "torch-01.trace.json.gz", one_layer_short)

    found = by_name(items(context(tmp_path)))

    assert {item["strength"] for item in found.values()} == {"log"}
    assert "attention_operators" not in found["attention_gemm_backend"]["ran"]


def test_without_a_trace_the_strength_is_that_of_the_log(tmp_path: Path) -> None:
    write_log(tmp_path, ECHOES)

    assert {item["strength"] for item in items(context(tmp_path))} == {"log"}


@pytest.mark.req("7.15")
@pytest.mark.forbids
def test_an_item_without_evidence_is_unknown_and_says_why(tmp_path: Path) -> None:
    write_log(tmp_path, {name: v for name, v in ECHOES.items() if name != "hardware_runtime"})

    item = by_name(items(context(tmp_path)))["hardware_runtime"]

    assert (item["ran"], item["strength"], item["evidence"]) == (None, "none", [])
    assert item["reason"] is not None
    assert "engine.log has no line of a known form on it" in item["reason"]
    assert item["declared"] is not None  # what was declared does not become what ran


def test_an_engine_that_left_nothing_has_eight_unknown_items(tmp_path: Path) -> None:
    found = items(context(tmp_path, version=None))

    assert [item["ran"] for item in found] == [None] * 8
    assert all(item["reason"] for item in found)


def test_server_info_stands_in_for_a_lost_log(tmp_path: Path) -> None:
    found = by_name(items(context(tmp_path, server_info={"graph_compile_mode": {"mode": "eager"}})))

    item = found["graph_compile_mode"]
    assert item["ran"] == {"mode": "eager"}
    assert item["evidence"][0]["pointer"] == {
        "file": "server_info.json",
        "query": "graph_compile_mode",
    }


def test_a_broken_trace_is_named_where_nothing_else_speaks(tmp_path: Path) -> None:
    path = tmp_path / "trace" / "torch-01.trace.json.gz"
    path.parent.mkdir()
    path.write_bytes(b"not gzip")

    reasons = [item["reason"] for item in items(context(tmp_path, version=None))]

    assert all("is no Chrome trace" in str(reason) for reason in reasons)
