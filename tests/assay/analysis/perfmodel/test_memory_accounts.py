"""Weights that stay, memory by phase and column, and the state ledger's three columns."""

import pytest

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.format_record import FormatRecord
from assay.analysis.perfmodel.memory_phases import MemoryItems, Phase, phase_table
from assay.analysis.perfmodel.residency import Place, Transfer, resident_weights
from assay.analysis.perfmodel.state import state_classes
from assay.analysis.perfmodel.state_ledger import (
    EXCLUDED,
    Source,
    StateEntry,
    differences,
    ledger,
    with_layout,
    with_measurement,
)
from tests.assay.analysis.perfmodel.structures import SMOLLM2

WAY_BACK = (
    Transfer(source=Place.STORAGE, target=Place.HOST, bytes_per_s=2e9, rate_source="fio, 1 MiB reads"),
    Transfer(source=Place.HOST, target=Place.DEVICE, bytes_per_s=20e9, rate_source="pinned copy"),
)  # fmt: skip


def entry() -> StateEntry:
    (found,) = ledger(
        state_classes(SMOLLM2, kv_dtype="bfloat16"), tokens=100, place="device memory"
    )
    return found


@pytest.mark.req("12.10")
def test_benefits_and_costs_of_resident_weights_stand_apart() -> None:
    found = resident_weights(
        weight_bytes=16_000_000_000, state_bytes_per_token=131072, way_back=WAY_BACK
    )

    # 16 GB at 2 GB/s and at 20 GB/s; 16e9 / 131072 tokens
    assert [leg.value for leg in found.recovery] == [8.0, 0.8]
    assert found.benefits[0].value == pytest.approx(8.8)
    assert [cost.value for cost in found.costs] == [16_000_000_000, 122070]
    assert {e.unit for e in found.benefits}.isdisjoint(e.unit for e in found.costs)


@pytest.mark.req("12.10")
def test_a_way_back_of_unknown_speed_has_a_reason_and_one_must_be_named() -> None:
    slow = Transfer(
        source=Place.STORAGE, target=Place.DEVICE, bytes_per_s=None, rate_source="not measured"
    )

    found = resident_weights(weight_bytes=1, state_bytes_per_token=0, way_back=(slow,))

    assert (found.benefits[0].value, found.recovery[0].value) == (None, None)
    assert "no rate" in str(found.benefits[0].missing)
    assert "does not grow" in str(found.costs[1].missing)
    with pytest.raises(ModelRefused, match="way_back"):
        resident_weights(weight_bytes=1, state_bytes_per_token=1, way_back=WAY_BACK[:1])


@pytest.mark.req("12.08", "12.09")
def test_each_phase_and_column_has_its_own_figure_or_reason() -> None:
    profiled = phase_table(
        MemoryItems(
            weight_bytes=100,
            state_bytes=7,
            pool_bytes=50,
            peak_activation_bytes=9,
            non_torch_bytes=4,
        )
    )
    blind = phase_table(MemoryItems(weight_bytes=100, state_bytes=7))

    def sizes(phase: Phase) -> list[int | None]:
        return [profiled[phase][column].bytes for column in ("allocated", "reserved", "device")]

    # weights; weights + pool + peak activation; the allocator keeps the peak, the driver sees 4 more
    assert sizes(Phase.LOAD) == [100, None, None]
    assert sizes(Phase.WARM_UP) == [159, 159, 163]
    assert sizes(Phase.STEADY) == [150, 159, 163]
    assert blind[Phase.STEADY]["allocated"].bytes == 107  # no pool: the state of the load
    for cells in blind.values():
        for column in ("reserved", "device"):
            assert cells[column].bytes is None
            assert cells[column].missing


@pytest.mark.req("10.17")
def test_a_state_entry_says_how_it_grows_is_shared_comes_back_and_lies() -> None:
    found = entry()

    assert (found.kind, found.growth, found.place) == ("gqa_kv_cache", "linear", "device memory")
    assert "counted once" in found.sharing
    assert "running it again" in found.recomputation


@pytest.mark.req("10.16", "10.22", "11.08")
def test_columns_fill_in_the_order_of_evidence_and_differences_are_gaps() -> None:
    logical = entry()
    laid_out = with_layout(
        logical, size=2_580_480, source=Source.RUNTIME_METADATA, evidence="7 blocks of 16 tokens"
    )
    measured = with_measurement(
        laid_out, size=2_621_440, source=Source.ALLOCATION, evidence="allocator record"
    )

    # 100 tokens x 23,040 B; 112 tokens in whole blocks
    assert logical.planned_bytes().bytes == 2_304_000
    assert laid_out.planned_bytes().bytes == 112 * 23_040
    assert measured.planned_bytes().source is Source.ALLOCATION
    assert (logical.layout.bytes, logical.measured.bytes) == (None, None)
    assert "run-time metadata would fill it" in logical.layout.evidence
    assert differences([logical]) == []
    (gap,) = differences([measured])
    assert "logical 2304000, layout 2580480, measured 2621440" in gap["what"]
    assert any("multi-token-prediction" in item for item in EXCLUDED)


@pytest.mark.req("10.22")
@pytest.mark.forbids
def test_a_configuration_fills_no_layout_and_metadata_no_allocation() -> None:
    with pytest.raises(ModelRefused, match="layout"):
        with_layout(entry(), size=1, source=Source.CONFIGURATION, evidence="config.json")
    with pytest.raises(ModelRefused, match="measured"):
        with_measurement(entry(), size=1, source=Source.RUNTIME_METADATA, evidence="block count")


@pytest.mark.req("10.21")
def test_budgets_cite_the_executed_format_and_keep_the_design() -> None:
    design = FormatRecord(
        what="K/V cache",
        designed="float8_e4m3fn",
        designed_source="model card",
        executed=None,
        executed_evidence=None,
    )
    ran = FormatRecord(
        what="K/V cache",
        designed="float8_e4m3fn",
        designed_source="model card",
        executed="bfloat16",
        executed_evidence="engine.log line 41",
    )

    assert (design.budget_format, design.gap()) == ("float8_e4m3fn", None)
    assert "nothing has run" in design.budget_basis
    assert (ran.budget_format, ran.designed) == ("bfloat16", "float8_e4m3fn")
    gap = ran.gap()
    assert gap is not None
    assert "designed as float8_e4m3fn" in gap["what"]
    assert "memory budget" in gap["affects"]
