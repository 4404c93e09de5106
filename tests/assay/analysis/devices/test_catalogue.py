"""The device catalogue: sources beside every figure, nothing by default."""

import pytest

from assay.analysis.devices.catalogue import DEVICES, device, peak_flops_per_s
from assay.analysis.devices.figures import Column
from assay.analysis.perfmodel.errors import ModelRefused


@pytest.mark.req("12.01")
def test_every_figure_says_which_column_it_is_where_it_is_from_and_when() -> None:
    for entry in DEVICES:
        figures = [
            entry.memory_bytes,
            entry.memory_bandwidth,
            *entry.peaks.values(),
            *entry.observed,
        ]
        for figure in figures:
            assert figure.value > 0, entry.name
            assert figure.source, entry.name
            assert figure.date >= "2026-01-01", entry.name
        assert entry.memory_bandwidth.column is Column.rated, entry.name


def test_names_are_unique_and_found_by_alias() -> None:
    names = [name for entry in DEVICES for name in (entry.name, *entry.aliases)]

    assert len({name.lower() for name in names}) == len(names)
    assert device("h100").name == "H100-SXM"
    assert device("rtx 4090").name == "RTX-4090"


@pytest.mark.forbids
def test_an_unknown_device_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ModelRefused) as caught:
        device("H900")

    assert caught.value.finding.field == "device"
    assert "H100-SXM" in caught.value.finding.allowed


@pytest.mark.req("13.03")
@pytest.mark.forbids
def test_dense_peaks_by_precision_and_none_taken_from_another() -> None:
    # 989.4 TFLOP/s is dense; the sheet's 1,979 is with sparsity and must not appear
    assert peak_flops_per_s(device("H100"), "bfloat16").value == 989.4e12
    assert peak_flops_per_s(device("H100"), "float32").value < 100e12
    with pytest.raises(ModelRefused, match="weight-dtype"):
        peak_flops_per_s(device("A100"), "float8_e4m3fn")


@pytest.mark.req("12.01")
def test_an_observed_size_stands_beside_the_rated_one() -> None:
    card = device("RTX-4090")

    assert card.memory_bytes.value == 24e9
    assert [f.value for f in card.observed] == [25_250_627_584]
