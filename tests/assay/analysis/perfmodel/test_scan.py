"""Scans over lengths: one variable, and real token counts as x."""

import pytest

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.scan import ScanPoint, input_axis, input_lengths, output_axis


def test_a_scan_goes_as_far_as_the_model() -> None:
    assert input_lengths(8192, output_tokens=64) == (512, 2048)
    assert input_lengths(8256, output_tokens=64) == (512, 2048, 8192)
    assert input_lengths(None, output_tokens=64) == (512, 2048, 8192, 32768)


@pytest.mark.req("11.05")
def test_the_axis_of_an_output_scan_is_what_came_out() -> None:
    points = [ScanPoint(input_tokens=512, output_tokens=n, cap=1024) for n in (37, 412, 1024)]

    assert output_axis(points) == [37, 412, 1024]


@pytest.mark.req("11.01", "11.05")
@pytest.mark.forbids
def test_limits_are_no_axis_and_two_variables_are_no_scan() -> None:
    limit_only = [ScanPoint(input_tokens=512, output_tokens=None, cap=1024)]
    both_move = [
        ScanPoint(input_tokens=512, output_tokens=64),
        ScanPoint(input_tokens=2048, output_tokens=63),
    ]

    with pytest.raises(ModelRefused, match="only a limit"):
        output_axis(limit_only)
    for axis in (input_axis, output_axis):
        with pytest.raises(ModelRefused, match="the same real count at every point"):
            axis(both_move)
    with pytest.raises(ModelRefused, match="only a limit"):
        input_axis([ScanPoint(input_tokens=None, output_tokens=64)])
