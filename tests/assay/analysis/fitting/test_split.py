"""Whole cells are held out, by a rule that was stated and not by how they came out."""

import pytest

from assay.analysis.errors import ClaimRefused
from assay.analysis.fitting.identity import cell_of, identity_of
from assay.analysis.fitting.split import Cell, alternate_split, declared_split
from tests.assay.analysis.run_specs import spec

CELLS = [
    Cell(name=f"{size} in", values={"workload.input_tokens": size, "load.concurrency": 1})
    for size in (8160, 64, 512, 2048, 128)
]


@pytest.mark.req("13.24")
def test_declared_cells_are_held_out_whole() -> None:
    found = declared_split(CELLS, [{"workload.input_tokens": "512"}])

    assert found.held_out == ("512 in",)
    assert set(found.fitted) == {"64 in", "128 in", "2048 in", "8160 in"}
    assert found.rule == "declared: workload.input_tokens=512"
    assert found.side("512 in") == "holdout"


@pytest.mark.req("13.24", "13.25")
def test_undeclared_cells_alternate_between_the_ends_of_the_range() -> None:
    found = alternate_split(CELLS)

    # in order 64, 128, 512, 2048, 8160: every second one between the ends
    assert found.held_out == ("128 in", "2048 in")
    assert {"64 in", "8160 in"} <= set(found.fitted)


@pytest.mark.forbids
def test_a_rule_for_another_scan_is_refused() -> None:
    with pytest.raises(ClaimRefused, match=r"load\.concurrency=7"):
        declared_split(CELLS, [{"load.concurrency": "7"}])


@pytest.mark.forbids
def test_too_few_cells_on_a_side_are_refused() -> None:
    with pytest.raises(ClaimRefused, match="at least 3 to fit"):
        declared_split(CELLS[:3], [{"workload.input_tokens": "512"}])
    with pytest.raises(ClaimRefused, match="1 held out"):
        alternate_split(CELLS[:2])


def test_a_cell_says_whether_its_output_is_a_length_or_a_limit() -> None:
    fixed, natural = spec(), spec()
    fixed["workload"]["ignore_eos"], natural["workload"]["ignore_eos"] = True, False

    assert cell_of(fixed).name == "64 in, 24 out, 4 at once"
    assert cell_of(natural).name == "64 in, 24 out at most, 4 at once"


def test_what_changes_a_steps_time_is_another_calibration_and_a_limit_is_not() -> None:
    one, same, other = spec(), spec(), spec()
    same["engine"]["settings"] |= {"kv_blocks": 4096, "token_budget": 512}
    other["engine"]["settings"]["threads"] = 1

    here = identity_of(one, fingerprint="f")
    assert identity_of(same, fingerprint="f") == here
    assert identity_of(other, fingerprint="f") != here
    assert identity_of(one, fingerprint="g") != here
