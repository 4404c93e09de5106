"""What the recorded start said of itself, and what a line that changed its form does not say."""

import pytest

from runners.engines.sglang import log_reader
from runners.engines.sglang.log_lines import lines_of
from runners.engines.sglang.log_reader import FORMS
from runners.engines.stated_facts import Fact, absent, facts_of
from tests.runners.engines.sglang import recorded

START = recorded.log("startup.log")


def facts(text: str = START) -> dict[str, Fact]:
    return facts_of(lines_of(text.splitlines()), FORMS)


def test_the_recorded_start_states_every_needed_fact() -> None:
    assert absent(facts(), FORMS) == []


def test_the_kv_cache_has_a_size_in_tokens_and_a_format() -> None:
    found = facts()

    # --max-total-tokens 16384 of the recorded command
    assert found["kv_cache"].value["tokens"] == 16384
    assert found["kv_cache"].value["dtype"] == "bfloat16"
    assert found["limits"].value["running"] == 2
    assert found["limits"].value["context"] == 2048


def test_the_arguments_are_read_whole_after_what_the_server_changed_itself() -> None:
    arguments = log_reader.arguments(facts())

    assert arguments is not None
    assert arguments["attention_backend"] == "torch_native"
    assert arguments["cuda_graph_backend_decode"] == "disabled"
    assert arguments["random_seed"] == 0


def test_why_graphs_are_off_is_said() -> None:
    assert facts()["graphs_off"].value["because"] == "using torch native attention backend"


@pytest.mark.parametrize(
    ("line", "fact", "value"),
    [
        (
            "Capture target decode CUDA graph end. bs=[1, 2, 4], elapsed=3.21 s, mem usage=0.40 GB, "
            "avail mem=20.10 GB.",
            "decode_capture",
            {"sizes": "[1, 2, 4]", "s": 3.21, "gb": 0.4},
        ),
        (
            "Using hybrid attention backend for decode and prefill: decode_backend=fa3, "
            "prefill_backend=flashinfer.",
            "attention",
            {"backend": "decode_backend=fa3, prefill_backend=flashinfer"},
        ),
        (
            "Using fa3 as attention backend for LlamaForCausalLM.",
            "attention",
            {"backend": "fa3", "architecture": "LlamaForCausalLM"},
        ),
    ],
)
def test_forms_of_a_gpu_start_as_its_source_prints_them(
    line: str, fact: str, value: dict[str, object]
) -> None:
    found = facts(f"[2026-11-29 19:04:04.123 TP0] {line}")[fact]

    assert dict(found.value) == value
    assert found.process == "TP0"


@pytest.mark.req("7.10")
@pytest.mark.forbids
@pytest.mark.parametrize(
    ("before", "after", "fact"),
    [
        ("#tokens: 16384", "#pages: 16384", "kv_cache"),
        ("max_running_requests=2,", "max_running=2,", "limits"),
        ("Load weight end. elapsed=0.39 s", "Load weight end in 0.39 s", "weights_loaded"),
    ],
)
def test_a_line_that_changed_its_form_states_nothing(before: str, after: str, fact: str) -> None:
    changed = START.replace(before, after)

    assert changed != START
    assert fact not in facts(changed)
    assert fact in absent(facts(changed), FORMS)


def test_arguments_that_cannot_be_read_are_none() -> None:
    broken = START.replace("server_args={", "server_args={<enum>: 1, ")

    assert log_reader.arguments(facts(broken)) is None


def test_a_time_is_usable_only_to_the_millisecond() -> None:
    coarse, fine, foreign = lines_of(
        ["[2026-11-30 10:00:02] x", "[2026-11-30 10:00:02.250 TP1] x", "warnings.warn("]
    )

    assert coarse.wall_ns is None
    # 2026-11-30T10:00:00Z is 1796032800
    assert fine.wall_ns == 1_796_032_802_250_000_000
    assert foreign.process is None
