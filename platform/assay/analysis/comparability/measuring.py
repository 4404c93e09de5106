"""How far the load client's own figures can be trusted on each side: said before any number."""

from collections.abc import Iterator, Sequence

from assay.analysis.comparability.sides import Side
from assay.analysis.grade import Letter

_TRUSTED = (Letter.a.value, Letter.b.value)


def measuring_notes(sides: Sequence[Side]) -> tuple[str, ...]:
    """A sentence for each run that was disturbed or held up by its client, or of which that is not known."""
    return tuple(_notes(sides))


def _notes(sides: Sequence[Side]) -> Iterator[str]:
    ungraded = []
    for side in sides:
        for run in side.runs:
            if run.definition_version is None or run.grade in _TRUSTED:
                continue
            if run.grade:
                yield f"{side.letter}, {run.name}: grade {run.grade}, {run.grade_reasons[0]}"
            else:
                ungraded.append(side.letter)
    if ungraded:
        letters = ", ".join(dict.fromkeys(ungraded))
        yield f"{letters}: how far their client's figures can be trusted is not known"
