"""Which maturity backs a capacity commitment."""

from dataclasses import replace

import pytest

from assay.analysis.devices.catalogue import device
from assay.analysis.devices.commitment import committed_memory
from assay.analysis.devices.figures import Maturity
from assay.analysis.perfmodel.errors import ModelRefused


@pytest.mark.req("12.04")
@pytest.mark.parametrize("state", [Maturity.ga, Maturity.maintenance, Maturity.obtainable])
def test_what_can_be_had_backs_a_commitment(state: Maturity) -> None:
    entry = replace(device("H200"), maturity=state)

    assert committed_memory(entry).value == 141e9


@pytest.mark.req("12.04")
@pytest.mark.forbids
@pytest.mark.parametrize("state", [Maturity.preview, Maturity.roadmap])
def test_what_is_only_announced_backs_none(state: Maturity) -> None:
    announced = replace(device("H200"), name="H900", maturity=state)

    with pytest.raises(ModelRefused) as caught:
        committed_memory(announced)

    assert caught.value.finding.seen == f"H900: {state}"
    assert "available to obtain" in caught.value.finding.allowed
