"""A calibration: parameters of a step fitted by name on one machine and engine, and where they hold.

What it was fitted on, what it was judged on and how well both are explained is in its document. A prediction
names the digest of the calibration it was made with; it is ``calibrated`` inside the fitted range and
``extrapolated`` outside. Source of the rules: chapters 3.7.3 and 3.8.3.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from assay.analysis.devices.machine import Interval
from assay.analysis.step_spread import Spread
from runners.protocol.documents import Parameter

KIND = "assay-step-calibration"
FORMULA = (
    "staged and serial, empirical in its fitted terms: named amounts times named parameters; its "
    "coefficients are no physical peaks, and no factor scales the sum"
)
CALIBRATED, EXTRAPOLATED = "calibrated", "extrapolated"


class Errors(TypedDict):
    """Distribution of |measured - predicted| / predicted over ``n`` steps; ``share_inside`` their ranges."""

    n: int
    median: float
    p90: float
    worst: float
    worst_step: str
    share_inside: float
    interval: list[float]  # 95 % Wilson interval of the share


class Identity(TypedDict):
    """What a calibration belongs to: another value of any field is another calibration."""

    host_fingerprint: str
    engine: str
    engine_version: str
    artifact: str  # digest of the structure's declaration and the executed formats
    settings: dict[str, Any]  # those of the engine that change a step's time


class CalibrationDocument(TypedDict):
    kind: str
    format: int
    made_at: str  # UTC
    definition_version: str
    formula: str
    identity: Identity
    benchmark: str  # of which the unfitted figures are
    split: dict[str, Any]  # the rule, and the cells of either side
    runs: list[dict[str, Any]]  # bundle digest, cell, side, what others took of the cores
    parameters: list[Parameter]
    knots: list[int]
    inseparable: list[str]
    to_verify: list[str]  # fits outside what was assumed, each with what would settle it
    ranges: dict[str, dict[str, list[int]]]
    spreads: dict[str, list[float]]
    errors: dict[str, dict[str, Errors]]  # side -> phase
    cells: list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A stored document with the sha256 of its canonical bytes."""

    document: CalibrationDocument
    digest: str

    @property
    def reference(self) -> str:
        return f"calibration {self.digest[:12]} of {self.document['made_at']}"

    @property
    def disturbed(self) -> str | None:
        """The sentence that others held the cores during its runs; None if none was disturbed."""
        runs = self.document["runs"]
        count = sum(bool(run.get("disturbed")) for run in runs)
        if not count:
            return None
        return (
            f"calibration disturbed: in {count} of its {len(runs)} runs other processes held the cores; take "
            "it again on a quiet machine"
        )

    @property
    def parameters(self) -> list[Parameter]:
        return self.document["parameters"]

    @property
    def knots(self) -> tuple[int, ...]:
        return tuple(self.document["knots"])

    def intervals(self) -> dict[str, Interval]:
        found = {}
        for parameter in self.parameters:
            low, high = parameter["spread"] or [parameter["value"]] * 2
            found[parameter["name"]] = Interval(value=parameter["value"], low=low, high=high)
        return found

    def spread(self, coverage: float) -> Spread:
        ratios = {phase: tuple(values) for phase, values in self.document["spreads"].items()}
        return Spread(ratios=ratios, coverage=coverage)

    def decode_validity(self, *, batch: int, context: int) -> str:
        """Whether ``batch`` sequences of ``context`` stored tokens each lie in the fitted range.

        All three must: a scan that moves one variable at a time says nothing of both at their ends.
        """
        return self._within("decode", batch=batch, context=context, stored=batch * context)

    def prompt_validity(self, *, chunk: int, end: int) -> str:
        """Whether a prompt that ends at ``end`` tokens, in pieces of at most ``chunk``, was fitted."""
        return self._within("prompt", chunk=chunk, end=end)

    def _within(self, phase: str, **place: int) -> str:
        ranges = self.document["ranges"].get(phase)
        if ranges is None:
            return EXTRAPOLATED
        inside = all(ranges[name][0] <= value <= ranges[name][1] for name, value in place.items())
        return CALIBRATED if inside else EXTRAPOLATED


def fitting(calibrations: Sequence[Calibration], identity: Mapping[str, Any]) -> Calibration | None:
    """The newest calibration of that very machine, engine and model; None if there is none."""
    same = [c for c in calibrations if c.document["identity"] == identity]
    return max(same, key=lambda c: c.document["made_at"], default=None)
