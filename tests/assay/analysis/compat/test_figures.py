"""Means and percentiles of samples that are not held are numpy's of all of them, to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analysis.compat import figures
from assay.analysis.compat.figures import QUANTILES, linear, linear_of_many
from assay.analysis.shelf import HeldShelf


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300))
@settings(deadline=None)
def test_the_linear_rule_is_numpy_s(values: list[float]) -> None:
    expected = np.percentile(values, [100 * q for q in QUANTILES.values()])

    found = linear("x", values)

    assert [f.value for f in found] == [np.mean(values), *expected]


@pytest.mark.parametrize("n", [1, 127, 128, 129, 1000, 4099])
def test_samples_in_blocks_have_the_figures_of_all_at_once(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "_AT_ONCE", 128)
    values = np.random.default_rng(n).lognormal(size=n)

    found = linear_of_many("x", np.array_split(values, 5), HeldShelf())

    assert found == linear("x", values)
