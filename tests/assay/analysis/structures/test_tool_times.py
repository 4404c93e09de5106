"""A tool is serial unless records say otherwise, and what the answer reads can never be hidden."""

from dataclasses import replace

import pytest

from assay.analysis.errors import ClaimRefused
from assay.analysis.structures.tool_times import Placement, ToolRecord, claim_hidden, place

BESIDE = ToolRecord(trigger_ns=10, consumers=["log"], join_ns=90, answer="answer")


def test_all_three_records_and_another_reader_make_a_tool_hidden() -> None:
    placed = claim_hidden(BESIDE)

    assert placed.placement is Placement.hidden
    assert placed.why == "triggered at 10 ns, read by log, joined at 90 ns"


@pytest.mark.req("2.07")
@pytest.mark.parametrize(
    ("record", "missing"),
    [
        (replace(BESIDE, trigger_ns=None), "trigger point"),
        (replace(BESIDE, consumers=[]), "only consumer"),
        (replace(BESIDE, consumers=["log", "audit"]), "only consumer"),
        (replace(BESIDE, join_ns=None), "join point"),
    ],
)
def test_without_one_of_the_three_records_a_tool_is_a_serial_segment(
    record: ToolRecord, missing: str
) -> None:
    placed = place(record)

    assert placed.placement is Placement.serial
    assert missing in placed.why


@pytest.mark.req("2.08")
@pytest.mark.forbids
def test_a_tool_whose_result_the_answer_reads_cannot_be_called_hidden() -> None:
    read_by_answer = replace(BESIDE, consumers=["answer"])

    assert place(read_by_answer).placement is Placement.serial
    with pytest.raises(ClaimRefused, match="the answer answer reads its result"):
        claim_hidden(read_by_answer)
