"""The estimate that people see: parts that add up, a range from held-out steps, and where it was fitted."""

import pytest

from assay.analysis.device_estimate.answer import ParameterTable, StepEstimate, step_estimate
from assay.analysis.device_estimate.parameters import KNOWN, before
from assay.analysis.device_estimate.terms import StepLoad
from assay.analysis.device_estimate.validity import Place
from assay.analysis.errors import ClaimRefused
from tests.assay.analysis.device_estimate.test_terms import model

TABLE = ParameterTable(
    parameters=[before(name) for name in KNOWN],
    places=[Place(device="H100-SXM", engine="vllm", layout=(1, 1, 1), rows=4, context=100)],
    held_out_ratios=[0.8, 0.9, 1.0, 1.1, 1.2],
)


def estimate(*, batch: int = 4, context: int = 100, device: str = "H100-SXM") -> StepEstimate:
    load = StepLoad(batch=batch, context=context)
    return step_estimate(model(), load, device_name=device, engine="vllm", table=TABLE)


@pytest.mark.req("13.10", "13.20")
def test_the_parts_add_up_and_each_names_its_source() -> None:
    found = estimate()

    assert sum(part["seconds"] for part in found["parts"]) == pytest.approx(found["step_s"])
    assert all(part["seconds"] == part["amount"] * part["value"] for part in found["parts"])
    assert {part["source"] for part in found["parts"]} == {"assumption"}
    assert found["tokens_per_s"] == pytest.approx(4 / found["step_s"])


def test_the_range_spans_what_held_out_steps_did() -> None:
    found = estimate()

    # of five ratios the 10th and 90th percentile are 0.84 and 1.16
    assert found["coverage"] == 0.8
    assert found["range_s"] == pytest.approx([0.84 * found["step_s"], 1.16 * found["step_s"]])


@pytest.mark.req("13.25")
def test_an_estimate_beyond_the_fitted_steps_says_so_and_what_would_overturn_it() -> None:
    assert estimate()["validity"] == "calibrated"
    assert estimate(batch=64)["beyond"] == ["another batch"]
    assert "outside the range" in estimate()["overturned_by"]


def test_a_device_whose_memory_nothing_is_known_of_is_refused() -> None:
    with pytest.raises(ClaimRefused, match=r"weight_pass\.DDR5"):
        estimate(device="EPYC-9654")
