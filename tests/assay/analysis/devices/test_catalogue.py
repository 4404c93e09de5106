"""The device catalogue: sources beside every figure, nothing by default."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.analysis.devices.catalogue import (
    DEVICES,
    device,
    peak_flops_per_s,
    sustained_bandwidth,
)
from assay.analysis.devices.figures import AccessPattern, Column, Device, LinkKind
from assay.analysis.perfmodel.errors import ModelRefused

PEERS: dict[str, Any] = json.loads(
    Path("tests/data/peers/devices.json").read_text(encoding="utf-8")
)
ACCELERATORS = [entry for entry in DEVICES if entry.kind == "gpu" and entry.peaks]
HOSTS = [entry for entry in DEVICES if entry.kind == "cpu"]


@pytest.mark.req("12.01")
@pytest.mark.parametrize("entry", DEVICES, ids=lambda entry: entry.name)
def test_every_figure_says_which_column_it_is_where_it_is_from_and_when(entry: Device) -> None:
    for figure in entry.figures():
        assert figure.value > 0
        assert figure.source
        assert figure.date >= "2026-01-01"
    assert entry.memory_bandwidth.column is Column.rated
    # what no maker states and nobody measured is an assumption: the peaks of host processors
    assert all((f.column is Column.assumed) == (entry.kind == "cpu") for f in entry.peaks.values())
    assert all(figure.column is Column.observed for figure in entry.observed)


@pytest.mark.parametrize("entry", DEVICES, ids=lambda entry: entry.name)
def test_figures_are_in_base_units(entry: Device) -> None:
    # a slip of 1000 (GB/s as byte/s, TFLOP/s as GFLOP/s) or of 8 (Gbit/s as GB/s) leaves these ranges
    assert 16e9 <= entry.memory_bytes.value <= 8e12
    assert 250e9 <= entry.memory_bandwidth.value <= 10e12
    assert all(5e12 <= peak.value <= 12e15 for peak in entry.peaks.values())
    assert all(20e9 <= link.one_way_bytes_per_s <= 1e12 for link in entry.links)
    units = {figure.unit for figure in entry.figures()}
    assert units <= {"byte", "byte/s", "FLOP/s", "W"}
    assert entry.power_w is None or 50 <= entry.power_w.value <= 1500


@pytest.mark.req("13.03")
@pytest.mark.parametrize("entry", ACCELERATORS, ids=lambda entry: entry.name)
def test_halving_the_element_doubles_the_dense_rate(entry: Device) -> None:
    # tensor units: 16-bit floats at one rate, 8 bits at twice, 4 bits at four times (RTX 5090: eight, as its
    # 16- and 8-bit products run at half rate with 32-bit sums). A sparse figure would double once more.
    base = entry.peaks["bfloat16"].value
    assert entry.peaks["float16"].value == base
    if "float8_e4m3fn" in entry.peaks:
        assert entry.peaks["float8_e4m3fn"].value == pytest.approx(2 * base, rel=0.02)
    if "float4_e2m1fn" in entry.peaks:
        factor = 8 if entry.name == "RTX-5090" else 4
        assert entry.peaks["float4_e2m1fn"].value == pytest.approx(factor * base, rel=0.02)
    if "tfloat32" in entry.peaks:
        assert entry.peaks["tfloat32"].value == pytest.approx(base / 2, rel=0.03)


def test_names_are_unique_and_found_by_alias() -> None:
    names = [name for entry in DEVICES for name in (entry.name, *entry.aliases)]

    assert len({name.lower() for name in names}) == len(names)
    assert device("h100").name == "H100-SXM"
    assert device("rtx 4090").name == "RTX-4090"
    assert device("GB200").name == "GB200"


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
    with pytest.raises(ModelRefused, match="no peak is known"):
        peak_flops_per_s(device("Apple-M3-Ultra"), "float16")


@pytest.mark.req("12.01")
def test_an_observed_size_stands_beside_the_rated_one() -> None:
    card = device("RTX-4090")

    assert card.memory_bytes.value == 24e9
    assert [f.value for f in card.observed] == [25_250_627_584]


@pytest.mark.req("13.11")
def test_peak_and_sustained_bandwidth_are_two_parameters_and_no_pattern_stands_for_another() -> (
    None
):
    card = device("A100")

    sustained = sustained_bandwidth(card, AccessPattern.weight_pass)

    assert (card.memory_bandwidth.value, card.memory_bandwidth.column) == (2039e9, "rated")
    assert (sustained.figure.value, sustained.figure.column) == (1700e9, "observed")
    assert (sustained.read_share, "batch-1" in sustained.conditions) == (1.0, True)
    with pytest.raises(ModelRefused, match="paged gather on A100"):
        sustained_bandwidth(card, AccessPattern.paged_gather)
    with pytest.raises(ModelRefused, match="no sustained figure is known"):
        sustained_bandwidth(device("H100"), AccessPattern.copy)


def test_a_message_uses_one_direction_of_a_link() -> None:
    nvlink = device("H100").link(LinkKind.nvlink)

    assert nvlink is not None
    # 18 links x 25 GB/s each way = 450 GB/s; makers print 900
    assert nvlink.one_way_bytes_per_s == 450e9
    assert device("L40S").link(LinkKind.nvlink) is None


def test_a_hosts_bandwidth_is_its_channels_and_its_peak_a_limit() -> None:
    host = device("Xeon-8592+")

    # 8 channels x 5600 MT/s x 8 B = 358.4 GB/s; AMX: 64 cores x 1024 FLOP x 3.9 GHz = 255.6 TFLOP/s
    assert host.memory_bandwidth.value == pytest.approx(358.4e9)
    assert host.peaks["bfloat16"].value == pytest.approx(255.59e12, rel=1e-4)
    assert all("upper limits" in entry.remarks[0] for entry in HOSTS)


@pytest.mark.parametrize("row", PEERS["rows"], ids=lambda row: f"{row['device']}-{row['peer']}")
def test_the_tables_of_others_agree_or_the_reason_is_known(row: dict[str, Any]) -> None:
    entry = device(row["device"])
    ours = {"bandwidth_gb_per_s": entry.memory_bandwidth.value / 1e9} | {
        f"{dtype}_tflops": figure.value / 1e12 for dtype, figure in entry.peaks.items()
    }

    for name in row.keys() - {"device", "peer", "why"}:
        agrees = row[name] == pytest.approx(ours[name], rel=0.01)
        assert agrees == (name not in row.get("why", {})), (name, row[name], ours[name])
