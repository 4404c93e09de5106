"""What a fit leaves behind: parameters with source and spread, the range they hold in, and what to verify."""

from collections.abc import Mapping, Sequence

from assay.analysis.fitting.points import Step
from assay.analysis.fitting.solve import Prior
from assay.analysis.forecast import assumed
from assay.analysis.forecast.parameters import Known
from assay.analysis.forecast.terms import ELEMENTWISE
from assay.analysis.step_spread import DECODE, PROMPT
from runners.protocol.documents import Parameter

FIT = "fit"


def parameters_of(
    priors: Sequence[Prior],
    known: Known,
    values: Mapping[str, float],
    left_out: Sequence[Mapping[str, float]],
    *,
    made_at: str,
) -> list[Parameter]:
    """Every parameter of a step: what moved is a fit, with its spread over fits that left one cell out."""
    found: list[Parameter] = []
    for prior in priors:
        value = values[prior.name]
        before = known.parameters.get(prior.name) or _element_wise(known)
        if abs(value - prior.value) <= 1e-6 * max(prior.value, 1e-15):
            found.append(before)
            continue
        limits = (
            f"inside the spread of its micro-benchmark ({before['reference']})"
            if prior.measured
            else f"not negative; assumed before: {before['reference']}"
        )
        others = [v[prior.name] for v in left_out]
        found.append(
            Parameter(
                name=prior.name,
                value=value,
                unit=before["unit"],
                source=FIT,
                reference=f"{len(left_out)} cells of a scan, {limits}",
                date=made_at,
                spread=[min(value, *others), max(value, *others)],
            )
        )
    return found


def ranges_of(fitted: Sequence[Step]) -> dict[str, dict[str, list[int]]]:
    decode = [s.shape for s in fitted if s.shape.phase == DECODE]
    prompt = [s.shape for s in fitted if s.shape.phase == PROMPT]
    return {
        DECODE: {
            "batch": _ends([s.batch for s in decode]),
            "context": _ends([s.stored for s in decode]),
            "stored": _ends([s.batch * s.stored for s in decode]),
        },
        PROMPT: {
            "chunk": _ends([s.new for s in prompt]),
            "end": _ends([s.stored + s.new for s in prompt]),
        },
    }


def _ends(values: Sequence[int]) -> list[int]:
    return [min(values), max(values)]


def to_verify(priors: Sequence[Prior], values: Mapping[str, float]) -> list[str]:
    """Fits beyond the interval that was assumed: they may hold what another parameter hides."""
    return [
        f"{prior.name}: fitted {values[prior.name]:.3g}, assumed {prior.low:.3g} to {prior.high:.3g}; "
        "a trace of such a step, or a micro-benchmark of that part, would settle what it is made of"
        for prior in priors
        if not prior.measured and not prior.low <= values[prior.name] <= prior.high
    ]


def _element_wise(known: Known) -> Parameter:
    """The element-wise figure before a fit: assumed elements times the measured cache reads."""
    elements, cache = known.parameters[assumed.ELEMENTS], known.parameters["cache_s_per_byte"]
    value = elements["value"] * cache["value"]
    return Parameter(
        name=ELEMENTWISE,
        value=value,
        unit="s/byte",
        source="assumption",
        reference=f"elements moved ({elements['reference']}) through the cache ({cache['reference']})",
        date=cache["date"],
        spread=None,
    )
