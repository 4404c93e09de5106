"""Previews carry no main experiment, and active parameters make no dense model."""

from dataclasses import replace

import pytest

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.feed_forward.feed_forward import Experts
from assay.analysis.perfmodel.standing import Stage, Standing, check_main_subject, dense_size
from tests.assay.analysis.perfmodel.structures import REFERENCE_7B

RELEASED = Standing(
    model="reference", revision="a" * 40, stage=Stage.RELEASED, checked_by="smoke run of 2026-11-30"
)


@pytest.mark.req("10.26")
@pytest.mark.forbids
@pytest.mark.parametrize(
    ("changed", "field"),
    [
        (replace(RELEASED, stage=Stage.PREVIEW), "stage"),
        (replace(RELEASED, stage=Stage.EXPERIMENTAL), "stage"),
        (replace(RELEASED, revision="main"), "revision"),
        (replace(RELEASED, checked_by=None), "checked_by"),
    ],
)
def test_a_main_experiment_needs_a_frozen_released_verified_model(
    changed: Standing, field: str
) -> None:
    check_main_subject(RELEASED)

    with pytest.raises(ModelRefused) as refused:
        check_main_subject(changed)

    assert refused.value.finding.field == field


@pytest.mark.req("10.26", "10.23")
@pytest.mark.forbids
def test_active_parameters_are_not_the_size_of_a_dense_model() -> None:
    layer = replace(REFERENCE_7B.layers[0], feed_forward=Experts(experts=8, chosen=2, width=14336))
    mixture = replace(REFERENCE_7B, layers=(layer,) * 32)

    # embedding and head 2 x 32000 x 4096; a layer: 2 x 4096 x 4096 + 2 x 1024 x 4096 + 3 x 14336 x 4096
    # + 2 norms; the last norm
    assert dense_size(REFERENCE_7B) == 262_144_000 + 32 * (218_103_808 + 8192) + 4096
    with pytest.raises(ModelRefused, match="active parameters"):
        dense_size(mixture)
