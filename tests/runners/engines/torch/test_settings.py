"""Settings are checked by name before anything starts."""

import json
from pathlib import Path
from typing import Any

import pytest

from runners.engines.torch.settings import engine_settings, read_config
from runners.protocol.errors import Refused
from tests.runners.engines.torch.configs import server_config
from tests.runners.engines.torch.launched import spec

DECLARED: dict[str, Any] = spec()["engine"]["settings"]


def test_the_declared_settings_are_taken_as_they_are() -> None:
    settings = engine_settings(DECLARED)

    assert settings.kv_tokens == 512 * 16
    assert settings.longest_request == 2048  # max_length, the cache holds more
    assert engine_settings(DECLARED | {"kv_blocks": 10}).longest_request == 160


def test_a_delay_is_a_modification_that_the_engine_names_and_none_is_none() -> None:
    assert engine_settings(DECLARED).modification is None
    slowed = engine_settings(DECLARED | {"injected_delay_s": 0.02})
    assert slowed.modification == "a declared delay of 0.02 s in every step that decodes"


def test_a_declaration_from_before_there_was_a_delay_has_none() -> None:
    before = {k: v for k, v in DECLARED.items() if k != "injected_delay_s"}

    assert engine_settings(before).injected_delay_s == 0.0


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"weights": "4bit"}, r"engine\.settings\.weights: 4bit \(allowed: dequantized, packed\)"),
        ({"dtype": "fp8"}, r"engine\.settings\.dtype: fp8 \(allowed: float32, bfloat16, float16\)"),
        ({"kv_dtype": None}, r"engine\.settings\.kv_dtype: None"),
        ({"max_batch": 0}, r"engine\.settings\.max_batch: 0 \(allowed: a whole number from 1\)"),
        ({"kv_blocks": 1.5}, r"engine\.settings\.kv_blocks: 1\.5"),
        ({"threads": True}, r"engine\.settings\.threads: True"),
        ({"max_request_s": 0}, r"max_request_s: 0 \(allowed: a number of seconds above 0, or null"),
        (
            {"injected_delay_s": -0.1},
            r"injected_delay_s: -0.1 \(allowed: a number of seconds from 0",
        ),
        ({"injected_delay_s": None}, r"injected_delay_s: None"),
        ({"max_request_s": "1 s"}, r"max_request_s: 1 s"),
        ({"token_budget": 4}, r"token_budget: 4 \(allowed: at least max_batch \(8\)"),
        ({"when_out_of_blocks": "swap"}, r"swap \(allowed: wait, preempt\)"),
        ({"maxbatch": 3}, r"engine\.settings\.maxbatch: unknown \(allowed: weights, dtype,"),
    ],
)
def test_a_bad_setting_is_refused_by_name(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused, match=message):
        engine_settings(DECLARED | changed)


def test_a_written_configuration_reads_back_equal(tmp_path: Path) -> None:
    config = server_config(tmp_path / "model.gguf", "gguf")
    path = tmp_path / "config.json"

    config.write(path)

    assert read_config(path) == config


@pytest.mark.forbids
def test_a_configuration_that_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text("{")

    with pytest.raises(Refused, match=r"config\.json.*allowed: a JSON file"):
        read_config(path)
    with pytest.raises(Refused):
        read_config(tmp_path / "absent.json")


def test_the_file_holds_no_environment(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    server_config(tmp_path / "model.gguf", "gguf").write(path)

    assert "environment" not in json.loads(path.read_text())
