"""What a metric is: its rule, in words and in code, in one place."""

from collections.abc import Callable
from dataclasses import dataclass

from assay.analysis.absence import Absent
from assay.analysis.server_record import ServerRecord
from assay.analysis.wire.attempt import Attempt

Compute = Callable[[Attempt, ServerRecord | None], float | Absent]
Samples = Callable[[Attempt, ServerRecord | None], list[float] | Absent]

NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A metric of one attempt.

    ``unit`` is bare ("per token" belongs to the rule). ``perspective`` and ``layer`` say where it is seen.
    ``compute`` gives the attempt's value; where a rule is sampled per event, ``samples`` gives the samples
    and the attempt's value is their mean. ``needs`` lists what must be known, ``population`` over which
    attempts it is aggregated, and ``source`` where the definition comes from.
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
    compute: Compute
    samples: Samples | None = None


def seconds(start_ns: int | None, end_ns: int | None, *, missing: str) -> float | Absent:
    """``end - start`` in s; Absent with ``missing`` as the reason when one of them is not known."""
    if start_ns is None or end_ns is None:
        return Absent(missing)
    return (end_ns - start_ns) / NS_PER_S
