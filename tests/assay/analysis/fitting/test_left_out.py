"""Few cells are moved apart, many hardly; what lies inside a cell stays as it is."""

import pytest

from assay.analysis.fitting.left_out import widened


def test_two_cells_are_moved_far_apart_and_twenty_hardly() -> None:
    # n = 2: t(1) = 6.314, x sqrt(1.5) / 1.645 = 4.70; on a log scale about the middle 1
    low, high = widened([[1 / 1.1], [1.1]])
    assert high[0] == pytest.approx(1.1**4.70, rel=1e-2)
    assert low[0] == pytest.approx(1 / high[0])

    # n = 20: t(19) = 1.729, x sqrt(1.05) / 1.645 = 1.077
    many = widened([[1.1 if n % 2 else 1 / 1.1] for n in range(20)])
    assert many[1][0] == pytest.approx(1.1**1.077, rel=1e-3)


def test_the_scatter_inside_a_cell_is_kept() -> None:
    cells = widened([[0.9, 1.0, 1.1], [1.8, 2.0, 2.2]])

    for cell in cells:
        assert cell[2] / cell[0] == pytest.approx(1.1 / 0.9)


def test_one_cell_alone_is_left_as_it_is() -> None:
    assert widened([[0.9, 1.2]]) == [[0.9, 1.2]]
