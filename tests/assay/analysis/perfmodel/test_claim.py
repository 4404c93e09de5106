"""Claims that can't be true are refused with their reason; the others are not confirmed by it."""

import pytest

from assay.analysis.devices.device_roofs import rated_roofs
from assay.analysis.perfmodel.claim import Checked, Claim, Verdict, check_claim
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.parallel.laid_out import lay_out
from assay.analysis.perfmodel.parallel.layout import Layout
from assay.analysis.perfmodel.quantization.declared import declared_formats
from assay.analysis.perfmodel.reading.reader import read_structure
from tests.assay.analysis.perfmodel.structures import config

# Llama 2 70B: the widths of 3.1 with 32,000 words. 68,976,648,192 weights
LLAMA_2_70B = {**config("meta-llama__Llama-3.1-70B"), "vocab_size": 32000, "rope_scaling": None}


def checked(claim: Claim, *, device: str, layout: Layout = Layout()) -> Checked:  # noqa: B008
    structure = read_structure(LLAMA_2_70B)
    declared = declared_formats(
        structure, LLAMA_2_70B, companion=None, weight_dtype="float16", kv_dtype="float16"
    )
    return check_claim(claim, lay_out(structure, declared, layout), rated_roofs(device, declared))


@pytest.mark.req("13.30", "13.35")
def test_a_model_that_does_not_fit_its_device_has_no_rate_there() -> None:
    # 68,976,648,192 x 2 B = 137.95 GB against 80 GB
    found = checked(Claim(step_s=1 / 110, batch=1, context=1), device="H100")

    assert found.verdict is Verdict.refused
    assert "138 GB of weights" in found.reason
    assert "80 GB" in found.reason
    assert found.held_bytes - found.device_bytes > 57e9  # type: ignore[operator] # catalogued: never None


def test_a_rate_above_what_one_pass_over_the_weights_allows_is_contradicted() -> None:
    # without the input table 137.43 GB are read; at 4800 GB/s 28.63 ms, at most 34.9 token/s
    found = checked(Claim(step_s=1 / 155, batch=1, context=1), device="H200")

    assert found.verdict is Verdict.contradicted
    assert found.bound_s == pytest.approx(28.63e-3, rel=1e-3)
    assert found.tokens_per_s_at_most == pytest.approx(34.9, abs=0.05)


def test_a_contradiction_says_what_would_be_allowed_and_under_which_conditions() -> None:
    claim = Claim(step_s=1 / 155, batch=1, context=1)

    finding = checked(claim, device="H200").finding(claim)

    assert finding is not None
    assert "155 token/s" in finding.seen
    assert "at least 28.6 ms" in finding.allowed
    assert "1 x H200-SXM" in finding.remedy
    assert "float16" in finding.remedy


def test_the_same_rate_on_eight_cards_is_not_contradicted() -> None:
    claim = Claim(step_s=1 / 155, batch=1, context=1)

    found = checked(claim, device="H200", layout=Layout(tensor=8))

    assert found.verdict is Verdict.not_contradicted
    assert found.finding(claim) is None


def test_a_pipeline_has_no_single_step_of_one_rank() -> None:
    with pytest.raises(ModelRefused, match="pipeline"):
        checked(Claim(step_s=1, batch=1, context=1), device="H200", layout=Layout(pipeline=2))
