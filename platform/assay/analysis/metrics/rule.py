"""What a metric is: its rule, in words and in code, in one place."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from assay.analysis.absence import Absent
from assay.analysis.quantities import NS_PER_S
from assay.analysis.server_record import ServerRecord
from assay.analysis.wire.attempt import Attempt
from experiments.schema.workload import CallType

Compute = Callable[[Attempt, ServerRecord | None], float | Absent]
Samples = Callable[[Attempt, ServerRecord | None], list[float] | Absent]


GENERATION = frozenset({CallType.generation.value})
SCORING = frozenset(kind.value for kind in CallType) - GENERATION
ANY_CALL = GENERATION | SCORING  # of the client or the connection itself, whatever is called


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What every metric states, whether of one attempt or of a group of them.

    ``unit`` is bare ("per token" belongs to the rule). ``perspective`` and ``layer`` say where it is seen.
    ``needs`` lists what must be known, ``population`` over what it is aggregated, and ``source`` where the
    definition comes from. Calls of another type than ``call_types`` have no such metric.
    """

    id: str
    version: int
    title: str
    formula: str
    unit: str
    perspective: str
    layer: str
    population: str
    needs: str
    source: str
    call_types: frozenset[str] = GENERATION


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Definition):
    """A metric of one attempt.

    ``compute`` gives the attempt's value; where a rule is sampled per event, ``samples`` gives the samples
    and the attempt's value is their mean.
    """

    compute: Compute
    samples: Samples | None = None


@cache
def not_of(kind: CallType) -> Absent:
    """Why a call of this type has no such metric."""
    return Absent(f"no metric of calls of type {kind}")


def seconds(start_ns: int | None, end_ns: int | None, *, missing: str) -> float | Absent:
    """``end - start`` in s; Absent with ``missing`` as the reason when one of them is not known."""
    if start_ns is None or end_ns is None:
        return Absent(missing)
    return (end_ns - start_ns) / NS_PER_S
