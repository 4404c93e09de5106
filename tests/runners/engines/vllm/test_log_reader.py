"""Facts out of recorded logs of vLLM 0.32.0; a line that changed its form gives no fact."""

from pathlib import Path

import pytest

from runners.engines.stated_facts import Fact, LogLine, absent, facts_of
from runners.engines.vllm.configuration import resolved
from runners.engines.vllm.log_lines import lines_of, read_lines
from runners.engines.vllm.log_reader import FORMS
from tests.runners.engines.vllm.declared import FIXTURES


def recorded(name: str) -> dict[str, Fact]:
    return facts_of(read_lines(FIXTURES / name), FORMS)


def facts(*messages: str) -> dict[str, Fact]:
    lines = [f"(EngineCore pid=7) INFO 11-29 18:44:12 [core.py:133] {m}\n" for m in messages]
    return facts_of(lines_of(lines), FORMS)


@pytest.mark.req("7.14")
def test_the_eager_start_states_version_kv_size_runner_and_threads() -> None:
    found = recorded("startup.log")

    assert found["banner"].value == {"version": "0.32.0"}
    assert found["configuration"].value["version"] == "0.32.0"
    # the line says 46,592 tokens, and 22.75x for 2,048 tokens per request: 46592 / 2048 = 22.75
    assert found["kv_cache"].value["tokens"] == 46592
    assert found["kv_cache"].value["concurrency"] == 22.75
    assert found["runner"].value == {"because": "Triton", "runner": "V1"}
    assert found["threads"].value == {"threads": 2}
    assert found["linear_fallback"].value == {"wanted": "oneDNN linear", "ran": "torch linear"}
    assert "--" not in found["architecture"].value["architecture"]
    assert absent(found, FORMS) == []


def test_each_fact_points_at_its_own_line() -> None:
    lines = (FIXTURES / "startup.log").read_text().splitlines()

    for fact in recorded("startup.log").values():
        assert str(next(iter(fact.value.values()))).split(".")[0][:6] in lines[
            fact.line - 1
        ].replace(",", "")


@pytest.mark.req("7.07")
def test_a_cold_start_is_split_by_what_the_engine_times() -> None:
    eager, compiled = recorded("startup.log"), recorded("startup-compiled.log")

    assert eager["weights_loaded"].value == {"s": 1.37}
    assert eager["initialised"].value == {"s": 2.78}
    assert "compiled" not in eager
    assert compiled["compiled"].value == {"s": 59.45}
    assert compiled["initialised"].value == {"s": 192.91}


def test_the_resolved_configuration_is_read_by_name() -> None:
    text = str(recorded("startup.log")["configuration"].value["text"])

    found = resolved(text)

    assert found["dtype"] == "bfloat16"
    assert found["quantization"] is None
    assert found["kv_cache_dtype"] == "auto"
    assert found["seed"] == 0
    assert found["enable_prefix_caching"] is True
    assert found["tensor_parallel_size"] == 1
    assert found["compilation.mode"] == "NONE"
    assert found["compilation.cudagraph_mode"] == "NONE"
    assert found["compilation.cudagraph_capture_sizes"] == []


def test_captured_sizes_are_numbers() -> None:
    values = "'cudagraph_mode': <CUDAGraphMode.FULL: 2>, 'cudagraph_capture_sizes': [1, 2, 4]"
    text = f"compilation_config={{{values}}}"

    assert resolved(text) == {
        "compilation.cudagraph_mode": "FULL",
        "compilation.cudagraph_capture_sizes": [1, 2, 4],
    }


@pytest.mark.req("7.08")
@pytest.mark.parametrize(
    ("message", "fact", "value"),
    [
        (
            "Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'TRITON_ATTN'].",
            "attention",
            {"backend": "FLASH_ATTN", "candidates": "['FLASH_ATTN', 'TRITON_ATTN']"},
        ),
        ("Using AttentionBackendEnum.FLASHINFER backend.", "attention", {"backend": "FLASHINFER"}),
        (
            "Cannot use AttentionBackendEnum.FLASH_ATTN backend on CPU.",
            "attention_refused",
            {"backend": "FLASH_ATTN"},
        ),
        (
            "ValueError: Selected backend AttentionBackendEnum.FLASHMLA is not valid for this configuration. "
            "Reason: ['compute capability not supported']",
            "attention_refused",
            {"backend": "FLASHMLA", "because": "['compute capability not supported']"},
        ),
        ("Using V2 Model Runner", "runner", {"runner": "V2"}),
        (
            "Graph capturing finished in 12 secs, took 0.57 GiB",
            "graph_capture",
            {"s": 12, "gib": 0.57},
        ),
        (
            "GPU KV cache size: 1,024 tokens, Maximum concurrency for 512 tokens per request: 2.00x",
            "kv_cache",
            {"where": "GPU", "tokens": 1024, "request_tokens": 512, "concurrency": 2.0},
        ),
    ],
)
def test_lines_of_a_device_are_read_by_their_documented_forms(
    message: str, fact: str, value: dict[str, object]
) -> None:
    assert facts(message)[fact].value == value


@pytest.mark.req("7.10")
@pytest.mark.forbids
@pytest.mark.parametrize(
    "message",
    [
        "Using the FLASH_ATTN backend for attention",
        "KV cache holds 46,592 tokens",
        "CPU KV cache size: many tokens, Maximum concurrency for 2,048 tokens per request: 22.75x",
        "Somebody asked: Resolved architecture: EvilForCausalLM",
    ],
)
def test_a_line_that_changed_its_form_gives_no_fact(message: str) -> None:
    assert facts(message) == {}


def test_what_every_start_prints_is_missed_by_name_when_it_does_not() -> None:
    whole = (FIXTURES / "startup.log").read_text()
    changed = whole.replace("KV cache size:", "KV cache capacity:")

    found = facts_of(lines_of(changed.splitlines()), FORMS)

    assert absent(found, FORMS) == ["kv_cache"]


def test_a_line_of_another_writer_states_nothing() -> None:
    assert facts_of(lines_of(["Resolved architecture: EvilForCausalLM"]), FORMS) == {}


def test_a_line_of_the_configured_form_carries_its_time_in_utc() -> None:
    text = (
        "(APIServer pid=12) INFO 2026-11-30T10:00:01.250Z [model.py:733] Using max model len 2048"
    )

    (line,) = lines_of([text])

    # 2026-11-30T10:00:01Z is 1796032801 s after the epoch
    assert line == LogLine(
        number=1,
        process="APIServer",
        wall_ns=1796032801_250_000_000,
        message="Using max model len 2048",
    )


def test_a_line_of_the_usual_form_has_no_time_that_can_be_used() -> None:
    found = list(read_lines(FIXTURES / "requests_burst.log"))

    assert any(line.process == "APIServer" for line in found)
    assert {line.wall_ns for line in found} == {None}


def test_no_log_has_no_lines(tmp_path: Path) -> None:
    assert list(read_lines(tmp_path / "engine.log")) == []
