"""What the forecast says of a declared run before it is launched. None of it is registered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _

from assay.analysis.errors import AnalysisError
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.predictions import build_predictions
from assay.archive.benchmarks import stored_benchmarks
from assay.archive.paths import Home
from assay.archive.step_calibrations import calibration_for
from runners.protocol.documents import Prediction
from runners.protocol.errors import Finding

NOT_PLANNED = "not planned yet"  # the declaration's own lengths stand for the plan's
_SHOWN = ("decode_step", "ttft", "tpot", "time_to_last_token")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlookLine:
    """An estimate with its range, and a bound that no measurement may cross; either may be unknown."""

    label: str
    conditions: str
    estimate: float | None
    low: float | None
    high: float | None
    bound: float | None
    unit: str
    validity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    lines: tuple[OutlookLine, ...] = ()
    assumptions: tuple[str, ...] = ()
    off: bool = False  # the study wants no predictions
    finding: Finding | None = None

    @property
    def says_something(self) -> bool:
        return any(line.estimate is not None or line.bound is not None for line in self.lines)


def outlook_of(spec: Mapping[str, Any], home: Home) -> Outlook:
    """The load's own rows of the forecast, and the output rate that they imply in a closed loop."""
    if not spec["prediction"]["enabled"]:
        return Outlook(off=True)
    try:
        document = build_predictions(
            spec,
            {},
            stored_benchmarks(home),
            datetime.now(UTC).isoformat(),
            plan_digest=NOT_PLANNED,
            calibration=calibration_for(home, spec),
        )
    except (ModelRefused, AnalysisError) as refusal:
        return Outlook(finding=refusal.finding)
    rows = [r for r in document["predictions"] if r["conditions"].get("segment") == "load"]
    lines = [_line(row) for row in _chosen(rows)]
    rate = _rate(rows)
    return Outlook(
        lines=(*lines, *([rate] if rate else [])),
        assumptions=tuple(document["assumptions"]),
    )


def _chosen(rows: Sequence[Prediction]) -> list[Prediction]:
    """Of each shown quantity one row; of steps the one with the largest batch."""
    found = []
    for name in _SHOWN:
        alike = [row for row in rows if row["quantity"] == name]
        if alike:
            found.append(max(alike, key=lambda row: row["conditions"].get("batch") or 0))
    return found


def _line(row: Prediction) -> OutlookLine:
    low, high = row["range"] or (None, None)
    conditions = row["conditions"]
    said = [
        f"{name}={conditions[name]}" for name in _CONDITIONS if conditions.get(name) is not None
    ]
    return OutlookLine(
        label=row["quantity"],
        conditions=", ".join(said),
        estimate=row["estimate"],
        low=low,
        high=high,
        bound=row["bound"],
        unit=row["unit"],
        validity=row["validity"],
    )


_CONDITIONS = ("batch", "context_tokens", "input_tokens", "output_tokens")


def _rate(rows: Sequence[Prediction]) -> OutlookLine | None:
    """Output tokens a second while the largest batch decodes: batch over the step's time."""
    steps = [row for row in rows if row["quantity"] == "decode_step"]
    if not steps:
        return None
    step = max(steps, key=lambda row: row["conditions"].get("batch") or 0)
    batch = int(step["conditions"].get("batch") or 1)
    low, high = step["range"] or (None, None)
    return OutlookLine(
        label=_("output while the batch decodes"),
        conditions=f"batch={batch}",
        estimate=batch / step["estimate"] if step["estimate"] else None,
        low=batch / high if high else None,
        high=batch / low if low else None,
        bound=batch / step["bound"] if step["bound"] else None,
        unit="token/s",
        validity=step["validity"],
    )
