"""What a comparison comes to, in sentences: the first thing that a page or a terminal says."""

from collections.abc import Sequence

from assay.analysis.comparability.between_starts import FEWEST_STARTS, ONE_START_EACH
from assay.analysis.comparability.comparison import Comparison, Pair, Standing
from assay.analysis.comparability.fields import FieldPair
from experiments.errors import Finding

_MOST_NAMED = 3


def verdict(comparison: Comparison) -> str:
    """One sentence on what a difference between these runs may be put down to."""
    if comparison.refusals:
        return f"Not compared: {_why(comparison.refusals)}."
    if not comparison.pairs:
        runs = len(comparison.runs)
        return f"One configuration in {runs} runs: there is nothing to compare, only their spread."
    reference = comparison.sides[0].letter
    if _is_one_variable(comparison.pairs):
        return _all_of_one_variable(reference, comparison.pairs)
    return " ".join(pair_verdict(reference, pair) for pair in comparison.pairs)


def _is_one_variable(pairs: Sequence[Pair]) -> bool:
    """Whether several sides differ from the first in one and the same field alone."""
    fields = {pair.attributed_to for pair in pairs}
    alone = all(pair.standing is Standing.attributable for pair in pairs)
    return len(pairs) > 1 and len(fields) == 1 and alone


def _all_of_one_variable(reference: str, pairs: Sequence[Pair]) -> str:
    fields = [_attributed(pair) for pair in pairs]
    others = ", ".join(str(field.right) for field in fields)
    alone = ", as far as is known" if any(pair.conditions for pair in pairs) else ""
    return (
        f"{pairs[0].letter} to {pairs[-1].letter} each differ from {reference} in {fields[0].path} "
        f"({fields[0].left}; {others}) alone{alone}."
    )


def pair_verdict(reference: str, pair: Pair) -> str:
    """The same for one side against the reference."""
    if pair.standing is Standing.confounded:
        named = _named([f.path for f in pair.identity.confounders])
        what = f" in what nobody declared ({named})" if named else ": " + pair.because[0]
        return f"{pair.letter} differs from {reference}{what}: a difference belongs to nothing."
    if pair.standing is Standing.joint:
        moved = pair.identity.moved
        if pair.attributed_to:
            return (
                f"{pair.letter} differs from {reference} in {pair.attributed_to}, "
                f"{len(moved)} fields together: a difference belongs to no one of them."
            )
        return (
            f"{len(moved)} declared variables moved at once between {reference} and {pair.letter} "
            f"({_named(moved)}): a difference belongs to none of them alone."
        )
    if pair.standing is Standing.attributable:
        field = _attributed(pair)
        alone = "" if not pair.conditions else ", as far as is known"
        return f"{pair.letter} differs from {reference} in {_moved(field)} alone{alone}."
    if pair.standing is Standing.refused:
        return f"{pair.letter} is not compared with {reference}."
    return f"Nothing that is known differs between {reference} and {pair.letter}: what is left is spread."


def spread_words(comparison: Comparison) -> str:
    """How many fresh starts stand behind each side, and what that leaves unknown."""
    starts = [side.starts for side in comparison.sides]
    counted = ", ".join(f"{side.letter} {side.starts}" for side in comparison.sides)
    if set(starts) == {1}:
        return ONE_START_EACH
    if min(starts) >= FEWEST_STARTS:
        return f"fresh starts: {counted}"
    return (
        f"fresh starts: {counted}; with fewer than {FEWEST_STARTS} the spread of a side is unknown"
    )


def _attributed(pair: Pair) -> FieldPair:
    return next(f for f in pair.identity.fields if f.path == pair.attributed_to)


def _why(refusals: Sequence[Finding]) -> str:
    first = refusals[0]
    more = f" (and {len(refusals) - 1} more reasons)" if len(refusals) > 1 else ""
    return f"{first.field}: {first.seen}{more}"


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    return ", ".join(paths[:_MOST_NAMED]) + more


def _moved(field: FieldPair) -> str:
    return f"{field.path} ({field.left} and {field.right})"
