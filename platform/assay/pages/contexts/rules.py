"""Metric definitions, each under the anchor that rule ids link to."""

from collections.abc import Sequence
from itertools import groupby

from assay.analysis.definition import DEFINITION_VERSION
from assay.analysis.metrics.registry import ATTEMPT_RULES
from assay.analysis.metrics.rule import Rule

FAMILIES = {
    "ttft": "Time to first token",
    "boundary": "Boundary residuals",
    "e2e": "End to end",
    "latency": "End to end",
    "tpot": "Time per output token",
    "itl": "Inter-token latency",
}
OTHER = "Stages and the client's own error"


def definition_version() -> str:
    return DEFINITION_VERSION


def families() -> list[tuple[str, Sequence[Rule]]]:
    """Rules by family, in the order of the registry."""
    named = [(FAMILIES.get(r.id.partition(".")[0], OTHER), r) for r in ATTEMPT_RULES.values()]
    order = list(dict.fromkeys(name for name, _ in named))
    named.sort(key=lambda pair: order.index(pair[0]))
    return [(name, [r for _, r in own]) for name, own in groupby(named, key=lambda pair: pair[0])]
