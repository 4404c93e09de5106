"""No bound above a measured time, and the published sanity bounds reproduced from the configurations."""

from dataclasses import replace

import pytest

from assay.analysis.perfmodel.parallel.layout import Layout
from assay.analysis.published import rows
from assay.analysis.published.bounds import row_bound, sanity_bound_s
from assay.analysis.published.models import bound_model
from assay.analysis.published.rows import Judged
from benchmarks.published_measurements import configuration, published

PUBLISHED = published()
TIMED = [row.id for row in PUBLISHED.rows if row.judged in (*rows.TIMED, Judged.prefill_rate)]
WITH_SANITY = [row.id for row in PUBLISHED.rows if row.published_bound_ms]


@pytest.mark.req("13.07", "13.08", "13.09")
@pytest.mark.parametrize("id_", TIMED)
def test_no_bound_lies_above_the_measured_time(id_: str) -> None:
    found = row_bound(PUBLISHED.row(id_), configuration)

    assert found is not None
    assert 0 < found.bound_s <= found.measured_s
    assert found.verdict == "not contradicted"


def test_every_row_with_a_time_is_held_against_a_bound() -> None:
    # 7 of A, 4 of B, 9 of C, 5 of D; of E: E1, E3, both of E5, two each of E8, E9, E10, three of E12
    assert len(TIMED) == 7 + 4 + 9 + 5 + 13


@pytest.mark.req("13.30")
@pytest.mark.parametrize("id_", WITH_SANITY)
def test_the_published_sanity_bound_follows_from_the_configuration(id_: str) -> None:
    row = PUBLISHED.row(id_)

    found_ms = sanity_bound_s(row, configuration) * 1e3

    # printed with three digits or one decimal: half a unit of the last place, and rounding of a weight count
    last_place = 0.1 if (row.published_bound_ms or 0) >= 10 else 0.01
    assert found_ms == pytest.approx(row.published_bound_ms, abs=0.6 * last_place)


def test_our_bound_differs_from_the_sanity_bound_by_the_state_and_the_looked_up_rows() -> None:
    row = PUBLISHED.row("A1")
    found = row_bound(row, configuration)

    # 105 stored tokens read and 1 written, 524,288 B each, and one row of 4096 x 2 B of the input table,
    # at 2039 GB/s: (106 x 524,288 + 8,192) / 2039e9 = 27.26 us
    assert found is not None
    extra = found.bound_s - sanity_bound_s(row, configuration)
    assert extra == pytest.approx((106 * 524_288 + 8_192) / 2039e9, rel=1e-6)


@pytest.mark.req("13.34")
def test_a_step_reads_the_union_of_experts_and_not_all_of_them() -> None:
    # B7: 8 of 128 experts for one token, 4 of the 64 of each rank; all weights of both cards would take
    # 61.06 GB / 2 / 1792 GB/s = 17.0 ms, twice what was measured
    row = PUBLISHED.row("B7")
    model, roofs = bound_model(row, configuration)
    experts = [
        o for o in model.decode(batch=1, context=1567, busy_replicas=1) if "expert" in o.name
    ]
    everything_s = (model.rank.weight_bytes - 151_936 * 2048 * 2) / roofs.bandwidth_bytes_per_s

    # 48 layers x 4 experts x three matrices of 2048 x 768 x 2 B
    assert sum(o.weight_bytes for o in experts) == 48 * 4 * 3 * 2048 * 768 * 2
    assert everything_s > (row.measured_s or 0) * 1.9


@pytest.mark.req("13.34")
def test_sixteen_tokens_of_deepseek_read_two_fifths_of_its_experts() -> None:
    # 256 (1 - (1 - 8/256)^16) = 101.97, so 12.75 of the 32 of each of 8 ranks; 58 layers, 44,040,192
    # weights an expert of 1 B and a float32 scale for each 128 x 128 of them
    model, _ = bound_model(PUBLISHED.row("D1"), configuration)
    read = sum(
        o.weight_bytes for o in model.decode(batch=16, context=5120) if o.name == "moe_experts"
    )

    one = 44_040_192 * (1 + 4 / 128**2)
    assert read == pytest.approx(58 * 101.97 / 8 * one, rel=1e-4)


@pytest.mark.req("12.14")
def test_the_right_figures_on_the_wrong_number_of_devices_are_contradicted() -> None:
    # 3.62 ms on eight cards; one card alone needs 7.37 ms
    row = replace(PUBLISHED.row("A4.tp8"), layout=Layout())

    found = row_bound(row, configuration)

    assert found is not None
    assert found.verdict == "contradicted"
    assert found.bound_s == pytest.approx(7.37e-3, rel=1e-3)


def test_a_row_with_nothing_to_judge_has_no_bound() -> None:
    assert row_bound(PUBLISHED.row("B.run1"), configuration) is None
    assert row_bound(PUBLISHED.row("F1"), configuration) is None


def test_a_rate_without_a_batch_is_held_against_the_largest_one_that_fits() -> None:
    # 141 GB less the weights of a rank, over the state of one sequence at 1536 tokens
    row = PUBLISHED.row("E8.h200")
    model, _ = bound_model(row, configuration)

    sequences = (141_000_000_000 - model.rank.weight_bytes) // model.rank.state_bytes(1536)

    found = row_bound(row, configuration)
    assert found is not None
    assert found.measured_s == pytest.approx(sequences / (2 * 2582))
