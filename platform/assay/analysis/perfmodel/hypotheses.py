"""What may limit a phase, as hypotheses that a measurement can tell apart. A bound alone names no
bottleneck.

"Decode is bandwidth-bound" is a hypothesis: it predicts how a named measurement comes out, and another
hypothesis predicts something else for the same measurement. Sources: chapter 1.2.2 and 2.3.3.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.analysis.perfmodel.errors import ModelRefused
from runners.protocol.errors import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """``predicts`` maps the name of a measurement to the outcome that this hypothesis expects."""

    name: str
    statement: str
    predicts: Mapping[str, str]


def deciding_measurements(hypotheses: Sequence[Hypothesis]) -> tuple[str, ...]:
    """Measurements for which at least two of the hypotheses expect different outcomes."""
    outcomes: dict[str, set[str]] = {}
    for hypothesis in hypotheses:
        for measurement, outcome in hypothesis.predicts.items():
            outcomes.setdefault(measurement, set()).add(outcome)
    return tuple(name for name, seen in outcomes.items() if len(seen) > 1)


def surviving(
    hypotheses: Sequence[Hypothesis], measured: Mapping[str, str]
) -> tuple[Hypothesis, ...]:
    """The hypotheses that no measurement contradicts.

    Raises ModelRefused with fewer than two hypotheses, with two that nothing tells apart, or when no
    deciding measurement was made.
    """
    deciding = deciding_measurements(hypotheses)
    if len(hypotheses) < 2 or not deciding:
        raise _refused(
            ", ".join(h.name for h in hypotheses) or "none",
            "at least two hypotheses that expect different outcomes of one measurement",
        )
    made = [name for name in deciding if name in measured]
    if not made:
        raise _refused("no deciding measurement", " or ".join(deciding))
    return tuple(
        h for h in hypotheses if all(h.predicts.get(m, measured[m]) == measured[m] for m in made)
    )


DECODE = (
    Hypothesis(
        name="weight traffic",
        statement="decode is bandwidth-bound by reading the weights",
        predicts={
            "step time at twice the batch, short context": "about the same",
            "step time at twice the context, batch 1": "about the same",
            "step time with a lower memory clock": "longer in proportion",
        },
    ),
    Hypothesis(
        name="state traffic",
        statement="decode is bandwidth-bound by reading K/V or other state",
        predicts={
            "step time at twice the batch, short context": "about the same",
            "step time at twice the context, batch 1": "longer by the state's share",
            "step time with a lower memory clock": "longer in proportion",
        },
    ),
    Hypothesis(
        name="launch and host",
        statement="decode waits for kernel launches, scheduling and sampling on the host",
        predicts={
            "step time at twice the batch, short context": "about the same",
            "step time with a lower memory clock": "about the same",
            "gaps between kernels in a trace": "a large share of the step",
        },
    ),
    Hypothesis(
        name="compute",
        statement="decode is bound by arithmetic at this batch",
        predicts={
            "step time at twice the batch, short context": "about twice",
            "step time with a lower memory clock": "about the same",
        },
    ),
)

PREFILL = (
    Hypothesis(
        name="compute",
        statement="prefill is compute-bound",
        predicts={
            "prompt time at half the length": "half or less",
            "prompt time with a lower core clock": "longer in proportion",
        },
    ),
    Hypothesis(
        name="weight traffic",
        statement="prefill is bandwidth-bound: the prompt is too short for the ridge",
        predicts={
            "prompt time at half the length": "about the same",
            "prompt time with a lower core clock": "about the same",
        },
    ),
    Hypothesis(
        name="launch and host",
        statement="prefill waits for launches, tokenizing or batch assembly",
        predicts={
            "prompt time at half the length": "about the same",
            "gaps between kernels in a trace": "a large share of the prompt",
        },
    ),
)


def _refused(seen: str, allowed: str) -> ModelRefused:
    return ModelRefused(
        Finding(
            field="bottleneck",
            seen=seen,
            allowed=allowed,
            remedy="Write the hypotheses and make a measurement they disagree on, then name one.",
        )
    )
