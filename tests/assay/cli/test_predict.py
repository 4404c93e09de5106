"""``assay predict``: stable field names, hand-worked figures, refusals with exit code 2, and no Django."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.cli.main import main
from tests.assay.analysis.perfmodel.structures import CONFIGS
from tests.assay.analysis.run_specs import spec

ROOT = Path(__file__).parents[3]
LLAMA = str(CONFIGS / "meta-llama__Llama-3.1-8B.json")
GRANT = ("--config", LLAMA, "--device", "H100")


def answer(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert main(["predict", "--json", *options]) == 0
    return dict(json.loads(capsys.readouterr().out))


@pytest.mark.req("11.06", "13.35")
def test_the_answer_has_the_stable_names(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "--config", LLAMA, "--device", "H100", "--context", "4096")

    assert set(found) >= {
        "parameters", "structure", "state", "weights", "decode", "prefill", "memory", "assumptions",
        "not_modelled",
    }  # fmt: skip
    assert found["parameters"]["total"] == 8_030_261_248
    assert (
        found["parameters"]["active_definitions"]["active_without_input_embedding"] == 7_504_924_672
    )
    assert found["structure"]["kinds"] == {"gqa": 32}
    assert {k: found["structure"][k] for k in ("layers", "h", "h_kv", "d_head")} == {
        "layers": 32, "h": 32, "h_kv": 8, "d_head": 128,
    }  # fmt: skip
    (state,) = found["state"]["by_class"]
    assert set(state) >= {
        "class", "layers", "bytes_per_token", "cap_tokens", "constant_bytes", "in_total", "alternatives",
    }  # fmt: skip
    assert found["state"]["bytes_per_token"] == 131072
    assert found["state"]["bytes_at_context"] == 536_870_912
    assert found["weights"] == found["weights"] | {
        "bytes": 16_060_522_496,
        "bits_per_parameter": 16.0,
    }


@pytest.mark.req("13.13")
def test_what_the_roofline_omits_is_listed_with_the_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    listed = " ".join(answer(capsys, "--config", LLAMA, "--device", "H100")["not_modelled"])

    for cost in ("launch", "synchronisation", "host time", "dependent operators", "queue"):
        assert cost in listed
    assert "communication between devices" in listed


@pytest.mark.req("10.33", "13.06", "13.08", "13.30", "13.32")
def test_a_decode_step_on_a_rated_device(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(
        capsys, "--config", LLAMA, "--device", "H100", "--batch", "8", "--context", "4096"
    )
    decode = found["decode"]

    # matrices (8,030,261,248 - 525,336,576 - 65 norms x 4096) x 2 B, 8 looked-up rows of 4096 x 2 B,
    # K/V 8 x 4096 x 131,072 B read and 8 x 131,072 B written; the norms' 0.5 MB are left out of the bound
    matrices = (8_030_261_248 - 525_336_576 - 65 * 4096) * 2 + 8 * 4096 * 2
    assert decode["bytes"] == matrices + 8 * 4097 * 131072
    assert decode["bound_s"] == pytest.approx(decode["bytes"] / 3350e9)
    assert (decode["bound_by"], decode["memory_level"]) == ("memory", "HBM3")
    conditions = " ".join(found["assumptions"])
    assert "every weight and stored element moves once" in conditions
    assert "a bound is no prediction" in conditions
    assert "only the looked-up rows are read" in conditions
    assert found["prefill"]["bound_by"] == "compute"
    assert found["prefill"]["flops"] < found["prefill"]["flops_executed"]


def test_without_a_device_there_is_no_bound_and_the_reason_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = answer(capsys, "--config", LLAMA)

    assert found["decode"]["bound_s"] is None
    assert found["decode"]["bound_by"] is None
    assert found["memory"]["device_bytes"] is None
    assert any("no device named" in line for line in found["assumptions"])


@pytest.mark.req("11.08", "10.16")
def test_layout_and_allocation_columns_stay_empty(capsys: pytest.CaptureFixture[str]) -> None:
    columns = answer(capsys, "--config", LLAMA)["state"]["columns"]

    assert columns["logical_bytes"] > 0
    assert columns["backend_layout_bytes"] is None
    assert columns["measured_allocation_bytes"] is None


def test_a_companion_declares_the_cache(capsys: pytest.CaptureFixture[str]) -> None:
    name = str(CONFIGS / "nvidia__Llama-3.1-70B-Instruct-FP8")

    found = answer(
        capsys, "--config", f"{name}.json", "--quant-config", f"{name}.hf_quant_config.json"
    )
    alone = answer(capsys, "--config", f"{name}.json")
    forced = answer(capsys, "--config", f"{name}.json", "--kv-dtype", "fp16")

    assert found["state"]["bytes_per_token"] == 163840
    assert alone["state"]["bytes_per_token"] == 327680
    assert (forced["state"]["dtype"], forced["state"]["bytes_per_token"]) == ("float16", 327680)


def test_a_run_spec_is_read_with_its_own_precisions(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    document = spec()
    document["artifact"]["precision"]["kv"] = {"dtype": "float32"}
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(document), encoding="utf-8")

    found = answer(capsys, "--config", str(file))
    executed = answer(
        capsys, "--config", str(file), "--weight-dtype", "float32", "--kv-dtype", "bf16"
    )

    # Q4_1 matrices, a Q8_0 table, float32 norms; as executed 134,515,008 x 4 B
    assert found["weights"]["bytes"] == 66_355_200 + 30_081_024 + 140_544
    assert (found["state"]["bytes_per_token"], found["state"]["dtype"]) == (46080, "float32")
    assert executed["weights"]["bytes"] == 538_060_032
    assert executed["state"]["bytes_per_token"] == 23040


@pytest.mark.req("12.07")
def test_weights_beyond_the_device_do_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(
        capsys, "--config", str(CONFIGS / "meta-llama__Llama-3.1-70B.json"), "--device", "H100"
    )

    assert found["memory"]["fits"] == "no"
    assert found["memory"]["sequences_that_fit"] == 0
    assert found["memory"]["headroom_bytes"] < 0


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("options", "field"),
    [
        (["--config", str(CONFIGS / "no-such-file.json")], "config"),
        (["--config", LLAMA, "--device", "H900"], "device"),
        (["--config", LLAMA, "--context", "131073"], "context"),
        (["--config", LLAMA, "--batch", "0"], "batch"),
        (["--config", LLAMA, "--batch", "100001"], "batch"),
        (["--config", LLAMA, "--weight-dtype", "4bit"], "weight-dtype"),
        (["--config", LLAMA, "--device", "this-host"], "device"),
        (["--config", LLAMA, "--batches", "1,0"], "batch"),
        (["--config", LLAMA, "--contexts", "0"], "context"),
        (["--config", LLAMA, "--context", "100", "--reused-tokens", "100"], "reused-tokens"),
        (["--config", LLAMA, "--chunk-tokens", "0"], "chunk-tokens"),
        (["--config", LLAMA, "--tp", "3"], "layout"),
        (["--config", LLAMA, "--ep", "2"], "expert"),
        (["--config", LLAMA, "--pp", "33"], "pipeline"),
        (["--config", LLAMA, "--link-alpha-us", "6"], "link-gb-per-s"),
        (["--config", LLAMA, "--link-gb-per-s", "450"], "link-alpha-us"),
        (["--config", LLAMA, "--across-alpha-us", "9"], "across-alpha-us, across-gb-per-s"),
        (["--config", LLAMA, "--utilization", "0.9"], "remainder-bytes"),
        (["--config", LLAMA, "--storage-gb-per-s", "0"], "storage-gb-per-s"),
        (["--config", LLAMA, "--experts-touched", "nan"], "experts-touched"),
        (["--config", LLAMA, "--link-alpha-us", "nan", "--link-gb-per-s", "1"], "link"),
        (["--config", LLAMA, "--remote-alpha-us", "1", "--remote-gb-per-s", "inf"], "link"),
        ([*GRANT, "--utilization", "1.5", "--remainder-bytes", "1"], "utilization"),
        ([*GRANT, "--utilization", "0.9", "--remainder-bytes", "-1"], "remainder-bytes"),
        (
            [*GRANT, "--utilization", "0.9", "--remainder-bytes", "1", "--total-bytes", "0"],
            "total-bytes",
        ),
    ],
)
def test_bad_input_is_refused_with_its_field(
    options: list[str],
    field: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))

    assert main(["predict", "--json", *options]) == 2

    seen = capsys.readouterr()
    assert seen.err.startswith(f"error: {field}: ")
    assert json.loads(seen.out)["refused"][0]["field"] == field


@pytest.mark.forbids
@pytest.mark.parametrize(
    "text",
    ["[" * 200_000, "{", "", "[]"],
    ids=["deep", "cut", "empty", "list"],
)
def test_what_is_no_json_object_is_refused(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text(text)

    assert main(["predict", "--json", "--config", str(tmp_path / "config.json")]) == 2

    seen = capsys.readouterr()
    assert "(allowed: a readable JSON object)" in seen.err
    assert json.loads(seen.out)["refused"][0]["field"] == "config"


@pytest.mark.forbids
@pytest.mark.parametrize("word", ["Infinity", "NaN"])
def test_what_is_no_json_number_is_no_size(
    word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Path(LLAMA).read_text().replace('"hidden_size": 4096', f'"hidden_size": {word}')
    assert word in text
    (tmp_path / "config.json").write_text(text)

    assert main(["predict", "--json", "--config", str(tmp_path / "config.json")]) == 2

    assert json.loads(capsys.readouterr().out)["refused"][0]["field"] == "hidden_size"


def test_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "--config", LLAMA, "--device", "H200", "--context", "1024"]) == 0

    text = capsys.readouterr().out
    assert "131,072 B a token (bfloat16, config)" in text
    assert "128.00 MiB at context" in text
    assert "weights bfloat16, activations bfloat16, K/V bfloat16, accumulation unknown" in text
    assert "4800.0 GB/s" in text


def test_prediction_imports_no_django_and_no_torch() -> None:
    script = (
        "import sys; from assay.cli.main import main\n"
        f"assert main(['predict', '--json', '--config', {LLAMA!r}, '--device', 'H100']) == 0\n"
        "bad = {'django', 'celery', 'torch', 'numpy', 'plotly'} & set(sys.modules)\n"
        "assert not bad, bad\n"
    )
    path = os.pathsep.join([str(ROOT / "platform"), str(ROOT)])

    ended = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
