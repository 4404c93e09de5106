"""Estimates of the rows' steps: fitted on some, checked on others, with the group that each is left out of.

Fitted are rows of class A and B whose batch and context are known and whose messages wait for their work. A
row's error is reported without its model (every row of that configuration left out) and without its section
(every row of that kind of source).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.analysis.device_estimate.fit import Fitted, Point, fit, left_out
from assay.analysis.device_estimate.parameters import FRONT, starting_values
from assay.analysis.device_estimate.priced import estimate_s
from assay.analysis.device_estimate.terms import StepLoad, prompt_amounts, step_amounts
from assay.analysis.device_estimate.validity import Place, validity
from assay.analysis.published.documents import Estimates
from assay.analysis.published.models import Configs, estimate_model
from assay.analysis.published.rows import TIMED, Judged, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimated:
    """Everything that was fitted: on all fitted rows, and without each model and each section."""

    rows: dict[str, Row]
    points: dict[str, Point]
    fitted: tuple[str, ...]
    all_rows: Fitted
    by_model: dict[str, Fitted]
    by_section: dict[str, Fitted]

    def of(self, id_: str) -> Estimates:
        """The row's estimates with their errors."""
        row, point = self.rows[id_], self.points[id_]
        without = self.by_model[model_of(row)]

        def at(values: dict[str, float]) -> float:
            return estimate_s(values, point.amounts, overlapped=point.overlapped)

        before = at(starting_values())
        everything = at(dict(self.all_rows.values)) if id_ in self.fitted else None
        model = at(dict(without.values))
        section = at(dict(self.by_section[row.section].values))
        mark, beyond = validity(place_of(row), [place_of(self.rows[i]) for i in without.ids])
        return Estimates(
            before_any_fit_s=before,
            all_rows_s=everything,
            model_left_out_s=model,
            section_left_out_s=section,
            before_any_fit_error=before / point.measured_s - 1,
            all_rows_error=None if everything is None else everything / point.measured_s - 1,
            model_left_out_error=model / point.measured_s - 1,
            section_left_out_error=section / point.measured_s - 1,
            validity=mark,
            beyond=list(beyond),
            shares=_shares(without, point),
        )


def estimated(rows: Sequence[Row], configs: Configs) -> Estimated:
    """Fit the parameters on the rows that allow it, in turn without each model and each section."""
    judged = {row.id: row for row in rows if may_be_estimated(row)}
    points = {row.id: _point(row, configs) for row in judged.values()}
    fitted = tuple(row.id for row in judged.values() if may_be_fitted(row))
    fit_points = [points[id_] for id_ in fitted]

    def without(group_of: Callable[[Row], str]) -> dict[str, Fitted]:
        return left_out(list(points.values()), fit_points, lambda id_: group_of(judged[id_]))

    return Estimated(
        rows=judged,
        points=points,
        fitted=fitted,
        all_rows=fit(fit_points),
        by_model=without(model_of),
        by_section=without(lambda row: row.section),
    )


def may_be_estimated(row: Row) -> bool:
    """Batch and context are known, and a time was measured."""
    return row.judged in TIMED and None not in (row.batch, row.context, row.measured_s)


def may_be_fitted(row: Row) -> bool:
    """Of class A or B, and a plain sum of its parts."""
    return may_be_estimated(row) and row.quality in "AB" and not row.load.overlapped


def model_of(row: Row) -> str:
    """The structure that a row runs; editions in another format are the same model."""
    return row.config.removesuffix("-FP8")


def place_of(row: Row) -> Place:
    layout = row.layout
    return Place(
        device=row.device,
        engine=row.engine,
        layout=(layout.tensor, layout.expert, layout.data),
        rows=-(-(row.batch or 0) // (row.load.busy_replicas or layout.data)),
        context=row.context or 0,
    )


def ttft_estimate_s(row: Row, configs: Configs, found: Estimated) -> float | None:
    """One prompt alone, half a step of waiting and the front end, by parameters fitted without the model.

    Only where requests arrive in an open loop at a rate that the service keeps up with: a closed loop
    starts all of its prompts at once.
    """
    load = row.load
    if load.requests_per_s is None or load.new is None or row.id not in found.points:
        return None
    values = dict(found.by_model[model_of(row)].values)
    model, _ = estimate_model(row, configs)
    prompt = prompt_amounts(
        model, new=load.new, reused=load.reused, device_name=row.device, engine=row.engine
    )
    step_s = estimate_s(values, found.points[row.id].amounts)
    return estimate_s(values, prompt) + step_s / 2 + values[FRONT]


def _point(row: Row, configs: Configs) -> Point:
    model, _ = estimate_model(row, configs)
    between = row.judged is Judged.token_interval
    load = StepLoad(
        batch=row.batch or 0,
        context=row.context or 0,
        busy_replicas=row.load.busy_replicas,
        new=row.load.new if between else None,
        reused=row.load.reused,
        output=row.load.output,
    )
    return Point(
        id=row.id,
        amounts=step_amounts(model, load, device_name=row.device, engine=row.engine),
        measured_s=row.measured_s or 0.0,
        overlapped=row.load.overlapped,
    )


def _shares(fitted: Fitted, point: Point) -> dict[str, float]:
    """Share of each parameter in the sum of all of them."""
    parts = {name: fitted.values[name] * a for name, a in point.amounts.together().items() if a}
    total = sum(parts.values())
    return {name: part / total for name, part in sorted(parts.items(), key=lambda x: -x[1])}
