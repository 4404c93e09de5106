"""A bottleneck is named only after two hypotheses that a measurement tells apart."""

import pytest

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.hypotheses import (
    DECODE,
    PREFILL,
    Hypothesis,
    deciding_measurements,
    surviving,
)
from assay.analysis.perfmodel.request_shape import (
    RequestTokens,
    Side,
    check_transfer,
    output_time_s,
)


@pytest.mark.req("10.34")
@pytest.mark.parametrize("hypotheses", [DECODE, PREFILL], ids=["decode", "prefill"])
def test_the_usual_sentences_are_hypotheses_that_something_can_tell_apart(
    hypotheses: tuple[Hypothesis, ...],
) -> None:
    assert len(hypotheses) >= 2
    assert len(deciding_measurements(hypotheses)) >= 2
    assert any("bandwidth-bound" in h.statement for h in hypotheses)


@pytest.mark.req("10.34")
def test_a_measurement_leaves_those_it_does_not_contradict() -> None:
    measured = {"step time with a lower memory clock": "longer in proportion"}

    left = [h.name for h in surviving(DECODE, measured)]
    both = measured | {"step time at twice the context, batch 1": "about the same"}

    assert left == ["weight traffic", "state traffic"]
    assert [h.name for h in surviving(DECODE, both)] == ["weight traffic"]


@pytest.mark.req("10.34")
@pytest.mark.forbids
def test_one_hypothesis_names_no_bottleneck() -> None:
    twin = Hypothesis(name="twin", statement="the same in other words", predicts=DECODE[0].predicts)

    for hypotheses in ((DECODE[0],), (DECODE[0], twin), ()):
        with pytest.raises(ModelRefused, match="at least two hypotheses"):
            surviving(hypotheses, {"step time with a lower memory clock": "about the same"})
    with pytest.raises(ModelRefused, match="no deciding measurement"):
        surviving(DECODE, {"GPU utilisation": "98%"})


@pytest.mark.req("10.35")
@pytest.mark.forbids
def test_a_result_is_not_carried_to_the_other_side() -> None:
    long_in = RequestTokens(input_tokens=8192, output_tokens=64)
    long_out = RequestTokens(input_tokens=64, output_tokens=8192)

    assert long_in.side is Side.INPUT
    check_transfer(long_in, RequestTokens(input_tokens=4096, output_tokens=32))
    for measured, wanted in ((long_in, long_out), (long_out, long_in)):
        with pytest.raises(ModelRefused, match="limits of their own"):
            check_transfer(measured, wanted)


@pytest.mark.req("10.35")
def test_twice_the_output_is_not_twice_the_time() -> None:
    def step_s(stored: int) -> float:
        return 0.010 + stored * 1e-6

    once, twice = (
        output_time_s(step_s, request=RequestTokens(input_tokens=1000, output_tokens=n))
        for n in (1001, 2001)
    )

    # 1000 steps of 10 ms and 1000..1999 us; 2000 steps of 10 ms and 1000..2999 us
    assert once == pytest.approx(10 + 1.4995)
    assert twice == pytest.approx(20 + 3.999)
    assert twice > 2 * once
