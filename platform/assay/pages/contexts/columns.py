"""Which numbers a list shows: the reader's choice, in the address as ``columns=ttft.p50,throughput.rate``."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import QueryDict

from assay.ledger.run_query.values import metric
from assay.ledger.run_query.vocabulary import METRICS
from assay.pages.contexts.measures import HEADLINES, Headline
from experiments.errors import Finding, Refusal, refuse

MOST = 8
# Offered on the page; any other rule can be named in the address.
OFFERED = (
    "ttft.p50",
    "ttft.p95",
    "ttft.p99",
    "tpot.p50",
    "tpot.p95",
    "tpot.p99",
    "itl.p99",
    "e2e.p50",
    "e2e.p95",
    "throughput.rate",
    "requests.rate",
    "goodput.ratio",
    "completed.ratio",
    "errors.ratio",
    "ttft.server.p50",
    "queue.server.p95",
)
DEFAULT = ("ttft.p50", "tpot.p50", "throughput.rate")
_LABELS = {
    "ttft": "TTFT",
    "tpot": "TPOT",
    "itl": "ITL",
    "e2e": "E2E",
    "throughput": "Output",
    "requests": "Requests",
    "goodput": "Goodput",
    "completed": "Completed",
    "errors": "Errors",
}
_UNSAID = ("rate", "ratio")  # the only statistic of its rule
_SHORT = {rule: short for short, (rule, _) in METRICS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The chosen numbers, in order. What was asked for and is no number is a problem."""

    names: Sequence[str] = DEFAULT
    problems: Sequence[Finding] = ()

    @property
    def headlines(self) -> tuple[Headline, ...]:
        return HEADLINES if self.is_default else tuple(headline(name) for name in self.names)

    @property
    def is_default(self) -> bool:
        return tuple(self.names) == DEFAULT

    @property
    def address(self) -> str:
        """As the address has it; empty for the page's own choice."""
        return "" if self.is_default else ",".join(self.names)

    @property
    def shown(self) -> list[tuple[str, str]]:
        """Name and label of each, in order."""
        return [(name, headline(name).label) for name in self.names]

    @property
    def offered(self) -> list[tuple[str, str, bool]]:
        """Name, label and whether it is shown, of every number that the page offers."""
        names = dict.fromkeys([*OFFERED, *self.names])
        return [(name, headline(name).label, name in self.names) for name in names]


def chosen_columns(parameters: QueryDict) -> Columns:
    asked = [n.strip() for text in parameters.getlist("columns") for n in text.split(",")]
    names: list[str] = []
    problems: list[Finding] = []
    for name in dict.fromkeys(n for n in asked if n):
        try:
            names.append(_canonical(name[:100]))
            if len(names) > MOST:
                names.pop()
                raise refuse(
                    field=f"column {name[:100]}",
                    seen=f"more than {MOST} numbers",
                    allowed=f"{MOST} numbers",
                    remedy="Leave one out.",
                )
        except Refusal as refusal:
            problems.extend(refusal.findings)
    return Columns(names=tuple(dict.fromkeys(names)) or DEFAULT, problems=tuple(problems))


def headline(name: str) -> Headline:
    """The column of a name that was understood."""
    rule, statistic = metric(name, name)
    short = _SHORT.get(rule, "")
    label = _LABELS.get(short, rule)
    if statistic not in _UNSAID:
        label = f"{label} {statistic}"
    return Headline(key=short or rule, label=label, rule=rule, statistic=statistic)


def _canonical(name: str) -> str:
    """``ttft.p50`` for ``ttft`` and for the rule's id alike. Raises Refusal."""
    rule, statistic = metric(name, name)
    return f"{_SHORT.get(rule, rule)}.{statistic}"
