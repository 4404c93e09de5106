"""Settings become flags, or keys of the configuration file; nothing is named in both."""

from typing import Any

import pytest
import yaml

from runners.engines.tensorrt_llm.configuration import file_of, flags_of
from runners.engines.tensorrt_llm.settings import tensorrt_llm_settings
from runners.protocol.errors import Refused
from tests.runners.engines.tensorrt_llm.declared import dump, spec

ONE = {"data": 1, "tensor": 1, "pipeline": 1, "expert": 1}


def flags(*, parallel: Any = ONE, **settings: Any) -> list[str]:
    declared = spec(**settings)["engine"]["settings"]
    return flags_of(tensorrt_llm_settings(declared), parallel, dump())


def file(**settings: Any) -> dict[str, Any]:
    declared = spec(**settings)["engine"]["settings"]
    return dict(yaml.safe_load(file_of(tensorrt_llm_settings(declared))))


def value(arguments: list[str], flag: str) -> str:
    return arguments[arguments.index(flag) + 1]


def test_lengths_and_layout_are_flags() -> None:
    found = flags(max_seq_len=1024, parallel={"data": 1, "tensor": 4, "pipeline": 2, "expert": 4})

    assert value(found, "--max_seq_len") == "1024"
    assert [value(found, f"--{kind}_size") for kind in ("tp", "pp", "ep")] == list("424")
    assert "--enable_chunked_prefill" not in found
    assert "--enable_chunked_prefill" in flags(chunked_prefill=True)


def test_what_has_a_key_is_in_the_file_and_in_no_flag() -> None:
    found = file(kv_free_fraction=0.5, attention_backend="FLASHINFER", overlap=False)

    assert found["kv_cache_config"]["free_gpu_memory_fraction"] == 0.5
    assert found["kv_cache_config"]["enable_block_reuse"] is False
    assert found["attn_backend"] == "FLASHINFER"
    assert found["disable_overlap_scheduler"] is True
    assert found["scheduler_config"] == {"capacity_scheduler_policy": "GUARANTEED_NO_EVICT"}
    assert not [flag for flag in flags() if "kv_cache" in flag]


def test_graphs_are_null_where_they_are_off() -> None:
    assert file(graphs=False)["cuda_graph_config"] is None
    assert file(graph_sizes=[1, 8], graph_padding=True)["cuda_graph_config"] == {
        "batch_sizes": [1, 8],
        "enable_padding": True,
    }


def test_the_file_asks_for_evidence_and_takes_further_keys_by_path() -> None:
    found = file(options={"moe_config.max_num_tokens": "4096", "enable_autotuner": "false"})

    assert found["print_iter_log"] is True
    assert found["return_perf_metrics"] is True  # else there is no /prometheus/metrics
    assert found["moe_config"] == {"max_num_tokens": 4096}
    assert found["enable_autotuner"] is False


@pytest.mark.req("7.21")
def test_a_flag_that_the_version_does_not_take_is_refused_with_the_nearest() -> None:
    with pytest.raises(Refused) as refused:
        flags(flags={"num_postprocess_worker": "1"})

    (finding,) = refused.value.findings
    assert "is no flag of version 1.2.1, by its own parser" in finding.seen
    assert finding.remedy == "The nearest is --num_postprocess_workers."


@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("flags", "max_seq_len"),
        ("flags", "extra_llm_api_options"),
        ("flags", "kv_cache_free_gpu_memory_fraction"),
        ("options", "kv_cache_config.dtype"),
        ("options", "cuda_graph_config.max_batch_size"),
        ("options", "kv_cache_config"),
    ],
)
def test_what_a_setting_controls_is_not_set_behind_its_back(group: str, name: str) -> None:
    with pytest.raises(Refused, match="has a setting of its own, or is set by Assay"):
        flags(**{group: {name: "1"}})
