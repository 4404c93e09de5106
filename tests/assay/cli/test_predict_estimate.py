"""``assay predict --estimate-for``: a conditional estimate beside the bound, or a refusal by name."""

import json

import pytest

from assay.cli.main import main
from tests.assay.analysis.perfmodel.structures import CONFIGS

LLAMA = str(CONFIGS / "meta-llama__Llama-3.1-8B.json")


@pytest.mark.req("13.10", "13.25")
def test_an_estimate_lies_above_its_bound_and_near_the_published_step(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ("--device", "A100", "--context", "105", "--estimate-for", "gpt-fast")

    assert main(["predict", "--json", "--config", LLAMA, *options]) == 0

    answer = json.loads(capsys.readouterr().out)
    found = answer["estimate"]
    # published: 10.66 ms, a row that the parameters were fitted on, hence calibrated
    assert answer["decode"]["bound_s"] < found["step_s"] == pytest.approx(10.66e-3, rel=0.05)
    assert found["range_s"][0] < 10.66e-3 < found["range_s"][1]
    assert (found["validity"], found["beyond"]) == ("calibrated", [])


def test_prompts_between_steps_make_them_longer(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--device", "H100", "--batch", "32", "--context", "1024", "--estimate-for", "vllm")
    steps = []
    for more in ((), ("--output-tokens", "128")):
        assert main(["predict", "--json", "--config", LLAMA, *options, *more]) == 0
        steps.append(json.loads(capsys.readouterr().out)["estimate"]["step_s"])

    # 32 / 128 of a prompt a step: a quarter of 2 x 1024 x 6.98e9 FLOP / 989.4e12 FLOP/s = 3.6 ms at the peak
    assert steps[1] - steps[0] > 3.6e-3


def test_the_table_ends_with_the_estimate_and_its_largest_parts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ("--device", "H200", "--estimate-for", "vllm")

    assert main(["predict", "--config", LLAMA, *options]) == 0

    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert last.startswith("estimate for vllm: ")
    assert "extrapolated (another engine)" in last
    assert "weight_pass.HBM3" in last


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ((), "device"),
        (("--device", "this-host"), "device"),
        (("--device", "EPYC-9654"), "parameter"),
        (("--device", "MI300X", "--tp", "2"), "parameter"),
    ],
)
def test_nothing_is_estimated_by_parameters_that_are_not_known(
    options: tuple[str, ...], field: str, capsys: pytest.CaptureFixture[str], tmp_path: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))

    assert main(["predict", "--json", "--config", LLAMA, *options, "--estimate-for", "vllm"]) == 2

    (refused,) = json.loads(capsys.readouterr().out)["refused"]
    assert refused["field"].startswith(field)
