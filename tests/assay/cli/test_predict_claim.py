"""``assay predict --claim-...``: what can't be true is refused, the rest is only not contradicted."""

import json

import pytest

from assay.cli.main import main
from tests.assay.analysis.perfmodel.structures import CONFIGS

LLAMA = str(CONFIGS / "meta-llama__Llama-3.1-8B.json")
LLAMA_70B = str(CONFIGS / "meta-llama__Llama-3.1-70B.json")
ON_A100 = ("--config", LLAMA, "--device", "A100", "--context", "105")


def test_a_possible_claim_stands_beside_the_prediction(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "--json", *ON_A100, "--claim-step-ms", "10.66"]) == 0

    claim = json.loads(capsys.readouterr().out)["claim"]
    assert claim["verdict"] == "not contradicted"
    assert claim["bound_s"] == pytest.approx(7.368e-3, rel=1e-3)
    assert any("1 x A100-80GB-SXM" in line for line in claim["conditions"])


def test_a_possible_claim_is_the_last_line_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", *ON_A100, "--claim-tokens-per-s", "93.83"]) == 0

    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert last == "claim: 10.66 ms a step is not contradicted: the bound is 69% of the claim"


@pytest.mark.req("13.30")
def test_a_claim_faster_than_its_bound_is_refused_with_the_bound(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["predict", "--json", *ON_A100, "--claim-step-ms", "3.62"]) == 2

    (refused,) = json.loads(capsys.readouterr().out)["refused"]
    assert refused["field"] == "claim"
    assert "2.04 times the claim" in refused["seen"]
    assert "at least 7.37 ms" in refused["allowed"]


def test_the_same_claim_holds_on_eight_cards(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "--json", *ON_A100, "--tp", "8", "--claim-step-ms", "3.62"]) == 0

    assert json.loads(capsys.readouterr().out)["claim"]["verdict"] == "not contradicted"


def test_a_claim_of_a_model_that_does_not_fit_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--config", LLAMA_70B, "--device", "H100", "--claim-tokens-per-s", "110")

    assert main(["predict", "--json", *options]) == 2

    (refused,) = json.loads(capsys.readouterr().out)["refused"]
    assert "do not fit in 80 GB of one device" in refused["seen"]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (("--claim-step-ms", "1"), "device"),
        (("--device", "A100", "--claim-step-ms", "0"), "claim-step-ms"),
        (("--device", "A100", "--claim-tokens-per-s", "-1"), "claim-tokens-per-s"),
        (
            ("--device", "A100", "--claim-step-ms", "1", "--claim-tokens-per-s", "1"),
            "claim-step-ms, claim-tokens-per-s",
        ),
        (("--device", "A100", "--pp", "2", "--claim-step-ms", "1"), "pipeline"),
    ],
)
def test_a_claim_that_can_not_be_checked_is_refused(
    options: tuple[str, ...], field: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", "--json", "--config", LLAMA, *options]) == 2

    assert json.loads(capsys.readouterr().out)["refused"][0]["field"] == field
