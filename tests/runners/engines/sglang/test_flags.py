"""Settings become flags of the installed version; what it does not take is refused with the nearest."""

from typing import Any

import pytest

from runners.engines.sglang.flags import of_evidence, of_study
from runners.engines.sglang.settings import sglang_settings
from runners.protocol.errors import Refused
from tests.runners.engines.sglang.declared import dump, spec

ONE = {"data": 1, "tensor": 1, "pipeline": 1, "expert": 1}


def study(*, parallel: Any = ONE, **settings: Any) -> list[str]:
    return of_study(sglang_settings(spec(**settings)["engine"]["settings"]), parallel, dump())


def value(arguments: list[str], flag: str) -> str:
    return arguments[arguments.index(flag) + 1]


def test_typed_settings_are_flags_with_their_values() -> None:
    found = study(
        context_length=1024,
        attention_backend="fa3",
        schedule_policy="dfs_weight",
        decode_graphs="full",
    )

    assert value(found, "--context-length") == "1024"
    assert value(found, "--attention-backend") == "fa3"
    assert value(found, "--cuda-graph-backend-decode") == "full"
    assert value(found, "--random-seed") == "0"
    assert value(found, "--schedule-policy") == "dfs-weight"


def test_what_is_left_to_the_engine_is_no_flag() -> None:
    found = study(quantization=None, decode_graphs="chosen", page_size=None)

    assert not {"--quantization", "--cuda-graph-backend-decode", "--page-size"} & set(found)


@pytest.mark.parametrize(
    ("setting", "off", "switch"),
    [
        ("overlap", True, "--disable-overlap-schedule"),
        ("prefix_cache", True, "--disable-radix-cache"),
        ("mixed_chunk", False, "--enable-mixed-chunk"),
        ("deterministic", False, "--enable-deterministic-inference"),
        ("torch_compile", False, "--enable-torch-compile"),
    ],
)
def test_a_switch_stands_only_for_the_value_that_is_not_the_engines_own(
    setting: str, off: bool, switch: str
) -> None:
    assert switch not in study(**{setting: off})
    assert switch in study(**{setting: not off})


def test_graph_sizes_are_a_list_of_arguments() -> None:
    found = study(decode_graphs="full", decode_graph_sizes=[1, 8])

    at = found.index("--cuda-graph-bs-decode")
    assert found[at + 1 : at + 3] == ["1", "8"]


def test_the_layout_is_said_and_data_means_replicas() -> None:
    found = study(parallel={"data": 2, "tensor": 4, "pipeline": 1, "expert": 4})

    assert [value(found, f"--{kind}-size") for kind in ("tp", "pp", "dp", "ep")] == list("4124")


def test_any_other_flag_of_the_version_may_be_set_by_name() -> None:
    found = study(flags={"stream-interval": "4", "enable-tf32-matmul": ""})

    assert value(found, "--stream-interval") == "4"
    assert found[-1] == "--enable-tf32-matmul"


@pytest.mark.req("7.21")
@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("max-running-request", "--max-running-requests"),
        ("stream-intervall", "--stream-interval"),
        ("speculative-skip-dp-mlp-sync", "--speculative-"),  # removed since 0.5.22
    ],
)
def test_a_flag_that_the_version_does_not_take_is_refused_with_the_nearest(
    name: str, nearest: str
) -> None:
    with pytest.raises(Refused) as refused:
        study(flags={name: "1"})

    (finding,) = refused.value.findings
    assert finding.field == f"engine.settings.flags.--{name}"
    assert "is no flag of version 0.5.23, by its own parser" in finding.seen
    assert nearest in finding.remedy


@pytest.mark.req("7.21")
def test_a_typed_setting_whose_flag_was_removed_is_refused_too() -> None:
    settings = sglang_settings(spec(page_size=16)["engine"]["settings"])

    with pytest.raises(Refused, match="--page-size is no flag of version"):
        of_study(settings, ONE, dump(without=("--page-size",)))


@pytest.mark.parametrize(
    "name",
    ["port", "context-length", "enable-metrics", "disable-radix-cache", "disable-cuda-graph"],
)
def test_a_flag_with_a_setting_of_its_own_is_not_set_behind_its_back(name: str) -> None:
    with pytest.raises(Refused, match="has a setting of its own, or is set by Assay"):
        study(flags={name: "1"})


def test_evidence_is_asked_for_and_no_text_is_written_to_the_log() -> None:
    found = of_evidence(dump())

    assert {"--enable-metrics", "--enable-request-time-stats-logging", "--log-requests"} <= set(
        found
    )
    assert value(found, "--log-requests-level") == "1"  # 2 and 3 print prompts and answers
    assert value(found, "--decode-log-interval") == "1"
    assert value(found, "--sampling-defaults") == "openai"


def test_an_evidence_flag_that_a_version_lacks_is_left_out_with_its_values() -> None:
    found = of_evidence(dump(without=("--uvicorn-access-log-exclude-prefixes",)))

    assert "/metrics" not in found


def test_settings_of_another_engine_are_refused_by_name() -> None:
    declared = spec()["engine"]["settings"] | {"max_model_len": 1}

    with pytest.raises(Refused, match="max_model_len are not of both"):
        sglang_settings(declared)
