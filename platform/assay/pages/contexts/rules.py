"""Metric definitions, each under the anchor that rule ids link to."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from assay.analysis.definition import DEFINITION_VERSION
from assay.analysis.metrics.registry import ATTEMPT_RULES

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
}
OTHER = "Stages and the client's own error"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    id: str
    title: str
    version: int
    formula: str
    unit: str
    population: str
    needs: str
    perspective: str
    layer: str
    source: str


def _group(
    rule: str, title: str, formula: str, unit: str, population: str, needs: str, seen: str
) -> RuleRow:
    return RuleRow(
        id=rule,
        title=title,
        version=1,
        formula=formula,
        unit=unit,
        population=population,
        needs=needs,
        perspective="server" if seen == "engine_loop" else "client",
        layer=seen,
        source="design, section 7",
    )


_SOCKET, _LOOP = "client_socket", "engine_loop"
_WINDOW = "a window: the steady part of the load, else first send to last end"
# Rules over a group of attempts or iterations, as assay.analysis.rates and step_aggregates compute them.
GROUP_RULES = (
    _group(
        "throughput.output_tokens", "Output tokens, end to end",
        "output tokens that arrived in the window / its length", "token/s",
        "tokens that arrived in the window, whatever became of their attempts",
        f"{_WINDOW}; a token count in every content event", _SOCKET,
    ),
    _group(
        "throughput.output_tokens.completed", "Output tokens of completed attempts",
        "output tokens of attempts that completed in the window / its length", "token/s",
        "attempts completed in the window", f"{_WINDOW}; the server's counts", _SOCKET,
    ),
    _group(
        "throughput.input_tokens", "Prompt tokens",
        "prompt tokens of attempts that completed in the window / its length", "token/s",
        "attempts completed in the window", f"{_WINDOW}; the server's counts", _SOCKET,
    ),
    _group(
        "throughput.requests", "Requests",
        "attempts completed in the window / its length", "request/s",
        "attempts completed in the window", _WINDOW, _SOCKET,
    ),
    _group(
        "in_flight", "In flight", "time-weighted mean of attempts sent and not ended", "1",
        "attempts sent and not ended", _WINDOW, _SOCKET,
    ),
    _group(
        "goodput.ratio", "Goodput, share",
        "requests completed within every service level / requests offered", "1",
        "offered requests; failed, rejected and cancelled ones count against it",
        "a contract with service levels", _SOCKET,
    ),
    _group(
        "goodput.rate", "Goodput, rate",
        "requests completed within every service level / length of the window", "request/s",
        "offered requests", f"a contract with service levels; {_WINDOW}", _SOCKET,
    ),
    _group(
        "completion_rate", "Completed", "completed / attempts", "1",
        "attempts, retries included", "nothing more", _SOCKET,
    ),
    _group(
        "error_rate", "Failed or timed out", "(failed + timeout) / attempts", "1",
        "attempts, retries included", "nothing more", _SOCKET,
    ),
    _group(
        "rejection_rate", "Rejected", "rejected / attempts", "1",
        "attempts, retries included", "nothing more", _SOCKET,
    ),
    _group(
        "cancel_rate", "Cancelled", "cancelled / attempts", "1",
        "attempts, retries included", "nothing more", _SOCKET,
    ),
    _group(
        "step.server.prefill", "Step time, prefill only", "duration of an iteration", "s",
        "iterations in which every request prefills", "the engine's iteration record", _LOOP,
    ),
    _group(
        "step.server.decode", "Step time, decode only", "duration of an iteration", "s",
        "iterations in which every request decodes", "the engine's iteration record", _LOOP,
    ),
    _group(
        "step.server.mixed", "Step time, mixed", "duration of an iteration", "s",
        "iterations in which some requests prefill and others decode",
        "the engine's iteration record", _LOOP,
    ),
    _group(
        "batch.server", "Batch size", "requests in an iteration", "request",
        "iterations; the batch changes with every step, so it is a distribution",
        "the engine's iteration record", _LOOP,
    ),
)  # fmt: skip


def definition_version() -> str:
    return DEFINITION_VERSION


def all_rules() -> list[RuleRow]:
    """Rules of one attempt as the registry has them, then those of groups."""
    own = [
        RuleRow(
            id=rule.id,
            title=rule.title,
            version=rule.version,
            formula=rule.formula,
            unit=rule.unit,
            population=rule.population,
            needs=rule.needs,
            perspective=rule.perspective,
            layer=rule.layer,
            source=rule.source,
        )
        for rule in ATTEMPT_RULES.values()
    ]
    return [*own, *GROUP_RULES]


def families() -> list[tuple[str, Sequence[RuleRow]]]:
    """Rules by family, in the order in which a family first appears."""
    named = [(FAMILIES.get(rule.id.partition(".")[0], OTHER), rule) for rule in all_rules()]
    order = list(dict.fromkeys(name for name, _ in named))
    named.sort(key=lambda pair: order.index(pair[0]))
    return [
        (name, [rule for _, rule in own]) for name, own in groupby(named, key=lambda pair: pair[0])
    ]


RULE_TITLES = {rule.id: rule.title for rule in all_rules()}
