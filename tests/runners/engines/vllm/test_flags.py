"""Settings become flags of the installed version; what it does not take is refused with the nearest one."""

from typing import Any

import pytest

from runners.engines.vllm.flags import of_evidence, of_study
from runners.engines.vllm.settings import vllm_settings
from runners.environments.parsers import Flag, ParserDump
from runners.protocol.errors import Refused
from tests.runners.engines.vllm.declared import parser_dump, spec

ONE = {"data": 1, "tensor": 1, "pipeline": 1, "expert": 1}


def dump(*, without: tuple[str, ...] = ()) -> ParserDump:
    document = parser_dump(without=without)
    flags = [
        Flag(names=tuple(r["names"]), takes_value=r["takes_value"], choices=(), deprecated=False)
        for r in document["flags"]
    ]
    return ParserDump(version="0.32.0", build=None, flags={n: f for f in flags for n in f.names})


def study(*, device: str = "cpu", parallel: Any = ONE, **settings: Any) -> list[str]:
    declared = spec(**settings)["engine"]["settings"]
    return of_study(vllm_settings(declared), parallel, device, dump())


def value(arguments: list[str], flag: str) -> str:
    return arguments[arguments.index(flag) + 1]


def test_typed_settings_are_flags_with_their_values() -> None:
    found = study(max_model_len=1024, max_num_queued_reqs=5, attention_backend="FLASH_ATTN")

    assert value(found, "--max-model-len") == "1024"
    assert value(found, "--max-num-queued-reqs") == "5"
    assert value(found, "--attention-backend") == "FLASH_ATTN"
    assert "--enforce-eager" in found


def test_what_is_left_to_the_engine_is_no_flag_and_a_switch_is_said_either_way() -> None:
    found = study(quantization=None, enable_prefix_caching=False, enable_chunked_prefill=True)

    assert "--quantization" not in found
    assert "--no-enable-prefix-caching" in found
    assert "--enable-chunked-prefill" in found


def test_graphs_are_asked_for_where_eager_is_not() -> None:
    found = study(enforce_eager=False, graph_mode="full", graph_capture_sizes=[1, 8])

    assert "-cc.cudagraph_mode=FULL" in found
    at = found.index("--cudagraph-capture-sizes")
    assert found[at + 1 : at + 3] == ["1", "8"]


def test_the_kv_memory_is_a_flag_on_a_device_and_a_variable_on_a_cpu() -> None:
    assert "--kv-cache-memory-bytes" not in study(kv_cache_gib=2)
    # 2 GiB
    assert value(study(kv_cache_gib=2, device="cuda"), "--kv-cache-memory-bytes") == "2147483648"


def test_the_layout_is_said_and_expert_parallelism_is_a_switch() -> None:
    found = study(parallel={"data": 1, "tensor": 4, "pipeline": 2, "expert": 4})

    assert value(found, "--tensor-parallel-size") == "4"
    assert value(found, "--pipeline-parallel-size") == "2"
    assert "--enable-expert-parallel" in found


def test_any_other_flag_of_the_version_may_be_set_by_name() -> None:
    found = study(flags={"stream-interval": "4"})

    assert value(found, "--stream-interval") == "4"


@pytest.mark.req("7.21")
@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("max-num-seq", "--max-num-seqs"),
        ("stream-intervall", "--stream-interval"),
        ("override-attention-dtype", "--override-generation-config"),  # removed in 0.28
    ],
)
def test_a_flag_that_the_version_does_not_take_is_refused_with_the_nearest(
    name: str, nearest: str
) -> None:
    with pytest.raises(Refused) as refused:
        study(flags={name: "1"})

    (finding,) = refused.value.findings
    assert finding.field == f"engine.settings.flags.--{name}"
    assert "is no flag of version 0.32.0, by its own parser" in finding.seen
    assert nearest in finding.remedy


@pytest.mark.req("7.21")
def test_a_typed_setting_whose_flag_was_removed_is_refused_too() -> None:
    settings = vllm_settings(spec(block_size=16)["engine"]["settings"])

    with pytest.raises(Refused, match="--block-size is no flag of version"):
        of_study(settings, ONE, "cpu", dump(without=("--block-size",)))


@pytest.mark.parametrize(
    "name", ["port", "max-num-seqs", "enable-log-requests", "no-enforce-eager"]
)
def test_a_flag_with_a_setting_of_its_own_is_not_set_behind_its_back(name: str) -> None:
    with pytest.raises(Refused, match="has a setting of its own, or is set by Assay"):
        study(flags={name: "1"})


def test_evidence_is_asked_for_and_no_answer_is_written_to_the_log() -> None:
    found = of_evidence(dump(), trace_folder="/b/trace")

    assert "--enable-logging-iteration-details" in found
    assert value(found, "--max-log-len") == "0"
    assert value(found, "--generation-config") == "vllm"
    assert '"torch_profiler_dir": "/b/trace"' in value(found, "--profiler-config")


def test_an_evidence_flag_that_a_version_lacks_is_left_out() -> None:
    found = of_evidence(dump(without=("--cudagraph-metrics",)), trace_folder=None)

    assert "--cudagraph-metrics" not in found
    assert "--profiler-config" not in found
