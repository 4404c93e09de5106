"""Every metric definition: those of one attempt, then those of groups, and both by family."""

from collections.abc import Sequence
from itertools import groupby

from assay.analysis.metrics.compat_rules import COMPAT_RULES
from assay.analysis.metrics.energy_rules import ENERGY_RULES
from assay.analysis.metrics.group_rules import GROUP_RULES
from assay.analysis.metrics.registry import ATTEMPT_RULES
from assay.analysis.metrics.rule import Definition

FAMILIES = {
    "ttft": "Time to first token",
    "boundary": "Boundary residuals",
    "e2e": "End to end",
    "latency": "End to end",
    "tpot": "Time per output token",
    "itl": "Inter-token latency",
    "throughput": "Rates over a window",
    "in_flight": "Rates over a window",
    "goodput": "Shares of what was offered",
    "error_rate": "Shares of what was offered",
    "rejection_rate": "Shares of what was offered",
    "cancel_rate": "Shares of what was offered",
    "completion_rate": "Shares of what was offered",
    "step": "The engine's iterations",
    "batch": "The engine's iterations",
    "prompt": "Caches",
    "energy": "Energy and cost",
    "cost": "Energy and cost",
}
OTHER = "Stages and the client's own error"
COMPAT = "As other tools compute it"

ALL_RULES: dict[str, Definition] = {
    **ATTEMPT_RULES,
    **GROUP_RULES,
    **ENERGY_RULES,
    **COMPAT_RULES,
}


def families() -> list[tuple[str, Sequence[Definition]]]:
    """Definitions by family, in the order in which a family first appears."""
    named = [(_family_of(rule), rule) for rule in ALL_RULES.values()]
    order = list(dict.fromkeys(name for name, _ in named))
    named.sort(key=lambda pair: order.index(pair[0]))
    return [
        (name, [rule for _, rule in own]) for name, own in groupby(named, key=lambda pair: pair[0])
    ]


def _family_of(rule: Definition) -> str:
    if rule.id in COMPAT_RULES:
        return COMPAT
    return FAMILIES.get(rule.id.partition(".")[0], OTHER)


def title_of(rule: str) -> str:
    """The title of a rule; its id where the catalogue has none of it (a later version's bundle)."""
    known = ALL_RULES.get(rule)
    return rule if known is None else known.title
