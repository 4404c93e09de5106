"""Layouts over domains, and pipelines whose stages are not alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.parallel.layout import Layout
from assay.analysis.perfmodel.parallel.pipeline import pipeline_times, split_layers


def test_boundaries_cross_domains_where_ranks_do() -> None:
    # four stages of four ranks on two domains of eight: only the middle boundary crosses
    assert Layout(tensor=4, pipeline=4, domain=8).crossing_boundaries() == 1
    assert Layout(tensor=8, pipeline=3, domain=8).crossing_boundaries() == 2
    assert Layout(tensor=2, pipeline=4, domain=8).crossing_boundaries() == 0
    assert not Layout(tensor=16, domain=8).tensor_in_domain()
    assert not Layout(tensor=1, data=16, expert=16, domain=8).experts_in_domain()
    assert Layout(tensor=2, pipeline=3, data=4).devices == 24


@pytest.mark.forbids
@pytest.mark.parametrize("fields", [{"tensor": 0}, {"tensor": 4, "expert": 3}, {"expert": 8}])
def test_a_layout_that_cannot_be_is_refused(fields: dict[str, int]) -> None:
    with pytest.raises(ModelRefused, match=next(reversed(fields))):
        Layout(**fields)


def test_extra_layers_go_before_the_last_stage() -> None:
    assert [len(part) for part in split_layers(61, stages=4)] == [15, 15, 16, 15]
    assert [len(part) for part in split_layers(30, stages=4)] == [7, 8, 8, 7]
    with pytest.raises(ModelRefused, match="fewer stages"):
        split_layers(3, stages=4)


@given(layers=st.integers(1, 200), stages=st.integers(1, 16))
def test_every_layer_is_in_one_stage(layers: int, stages: int) -> None:
    parts = split_layers(max(layers, stages), stages=stages)

    assert [i for part in parts for i in part] == list(range(max(layers, stages)))


@pytest.mark.req("12.14")
def test_the_slowest_stage_sets_the_pace() -> None:
    even, alone = (pipeline_times([2.0, 2.0, 4.0], in_flight=n) for n in (3, 1))

    # mean 8/3; three batches: one every 4 s, stages busy 8 of 12; one batch: 8 s a round
    assert even.imbalance == pytest.approx(1.5)
    assert (even.latency_s, even.pace_s) == (8.0, 4.0)
    assert even.idle_share == pytest.approx(1 / 3)
    assert alone.pace_s == 8.0
    assert alone.idle_share == pytest.approx(2 / 3)
    with pytest.raises(ModelRefused, match="in_flight"):
        pipeline_times([1.0], in_flight=0)
