"""The estimate of one step for whoever asks: value, range, parts, and where its parameters were fitted.

The range spans what held-out steps were seen to do: quantiles of measured over estimated, of rows whose model
took no part in the fit. Its coverage is that of those rows and nominal for any other step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import quantiles
from typing import TypedDict

from assay.analysis.device_estimate.priced import estimate_s
from assay.analysis.device_estimate.terms import StepLoad, step_amounts
from assay.analysis.device_estimate.validity import Place, validity
from assay.analysis.perfmodel.parallel.laid_out import LaidOut
from runners.protocol.documents import Parameter

COVERAGE = 0.8  # from the first to the last decile
LABEL = "an estimate from named parameters: no bound, no measurement, and no promise"
OVERTURNED_BY = (
    "a median step of this batch and context on this device and engine outside the range"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterTable:
    """Parameters with their labels, where they were fitted, and what held-out steps did beside them."""

    parameters: Sequence[Parameter]
    places: Sequence[Place]
    held_out_ratios: Sequence[float]  # measured over estimated

    @property
    def values(self) -> Mapping[str, float]:
        return {parameter["name"]: parameter["value"] for parameter in self.parameters}


class Part(TypedDict):
    """What one parameter contributes. ``amount`` x ``value`` = ``seconds``."""

    parameter: str
    amount: float
    value: float
    unit: str
    source: str
    seconds: float


class StepEstimate(TypedDict):
    label: str
    engine: str
    step_s: float
    range_s: list[float]
    coverage: float
    tokens_per_s: float
    validity: str
    beyond: list[str]
    overturned_by: str
    parts: list[Part]
    load: dict[str, object]


def step_estimate(
    model: LaidOut, load: StepLoad, *, device_name: str, engine: str, table: ParameterTable
) -> StepEstimate:
    """Estimate of one mean step; raises ClaimRefused where a parameter of this device is not known."""
    amounts = step_amounts(model, load, device_name=device_name, engine=engine)
    seconds = estimate_s(table.values, amounts, overlapped=load.overlapped)
    deciles = quantiles(table.held_out_ratios, n=10, method="inclusive")
    layout = model.layout
    place = Place(
        device=device_name,
        engine=engine,
        layout=(layout.tensor, layout.expert, layout.data),
        rows=-(-load.batch // (load.busy_replicas or layout.data)),
        context=load.context,
    )
    mark, beyond = validity(place, table.places)
    return StepEstimate(
        label=LABEL,
        engine=engine,
        step_s=seconds,
        range_s=[seconds * deciles[0], seconds * deciles[-1]],
        coverage=COVERAGE,
        tokens_per_s=load.batch / seconds,
        validity=mark,
        beyond=list(beyond),
        overturned_by=OVERTURNED_BY,
        parts=_parts(table, amounts.together()),
        load=asdict(load),
    )


def _parts(table: ParameterTable, amounts: Mapping[str, float]) -> list[Part]:
    """Largest first."""
    found = [
        Part(
            parameter=parameter["name"],
            amount=amounts[parameter["name"]],
            value=parameter["value"],
            unit=parameter["unit"],
            source=parameter["source"],
            seconds=amounts[parameter["name"]] * parameter["value"],
        )
        for parameter in table.parameters
        if amounts.get(parameter["name"])
    ]
    return sorted(found, key=lambda part: -part["seconds"])
