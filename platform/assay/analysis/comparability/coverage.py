"""What the evidence of a run does not cover of the shapes that it measured.

A trace holds for the batches that it saw. Where the measured load ran larger ones, which kernels ran there is
not shown, and two runs whose traces agree are not known to agree beyond them.
"""

from collections.abc import Iterator, Sequence

from assay.analysis.comparability.record import RunRecord
from assay.analysis.comparability.sides import Side
from assay.analysis.errors import ClaimRefused

TRACED = "largest_batch_traced"
MEASURED_RULE = "batch.server"


def check_covered(run: RunRecord) -> None:
    """Raises ClaimRefused where the path evidence of a run does not reach the batches that it measured."""
    traced, measured = _traced_batch(run), _measured_batch(run)
    if measured is None:
        return
    if traced is None:
        raise ClaimRefused(
            field="path evidence",
            seen="no batch was traced",
            allowed=f"a trace of batches up to {measured:g}",
            remedy="Profile the shapes that are measured (evidence.trace).",
        )
    if measured > traced:
        raise ClaimRefused(
            field="path evidence",
            seen=f"traced batches up to {traced}, measured batches up to {measured:g}",
            allowed=f"a trace of batches up to {measured:g}",
            remedy="Profile with as many requests at once (evidence.trace.requests).",
        )


def not_covered(sides: Sequence[Side]) -> tuple[str, ...]:
    """A sentence for each side whose kernels are not shown for the batches that it measured."""
    return tuple(_sentences(sides))


def _sentences(sides: Sequence[Side]) -> Iterator[str]:
    for side in sides:
        try:
            check_covered(side.first)
        except ClaimRefused as refused:
            yield f"{side.letter}: {refused.finding.seen}: which kernels ran beyond is not shown"


def _traced_batch(run: RunRecord) -> int | None:
    for item in (run.observed.identity or {}).get("run", ()):
        ran = item["ran"]
        if item["item"] == "model_runner" and isinstance(ran, dict) and ran.get(TRACED) is not None:
            return int(ran[TRACED])
    return None


def _measured_batch(run: RunRecord) -> float | None:
    found = (n.value for n in run.numbers if n.rule == MEASURED_RULE and n.statistic == "max")
    return next(found, None)
