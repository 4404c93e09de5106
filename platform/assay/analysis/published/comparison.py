"""Every published row beside its bound and its estimates: the document that the page and the tests read."""

from collections.abc import Iterable, Mapping

import numpy as np

from assay.analysis.device_estimate.fit import moving_together, parameters_of
from assay.analysis.perfmodel.claim import Claim, check_claim
from assay.analysis.perfmodel.engine_budget import (
    BLOCK_TOKENS,
    EngineBudget,
    granted_blocks,
    implied_remainder_bytes,
)
from assay.analysis.published.bounds import RowBound, row_bound
from assay.analysis.published.documents import (
    KIND,
    ClaimRow,
    Comparison,
    ErrorSummary,
    GrantedRow,
    PlaceRow,
    RowResult,
)
from assay.analysis.published.estimates import Estimated, estimated, place_of, ttft_estimate_s
from assay.analysis.published.models import Configs, bound_model, laid_out
from assay.analysis.published.rows import Judged, Published, Row

REMAINDER_BYTES = (
    1_300_000_000  # peak activation and non-torch memory: one stated input for all grants
)
FORMULA = (
    "serial sum over operators of max(FLOPs / C_eff, bytes / beta_eff), constants by layer, step and row, "
    "and messages x (alpha + M / B); empirical in its fitted parameters, which are no physical peaks"
)
ERROR = "(estimate - measured) / measured; distributions are of its absolute value"
ASSUMPTIONS = (
    "routing of experts is independent and uniform; real routing is skewed and reads fewer, so that "
    "bounds of models with experts hold under that condition only",
    "K/V whose type is not stated: 8 bits in bounds where weights have 8 bits, bfloat16 in estimates",
    "section C: context of the first turn; later turns store more",
    "rows of D and E12: all requests of the closed loop decode together, context is input + output / 2",
    "the terms of the sum were chosen with these rows in view. After a first fit HBM2 and HBM3 became "
    "two parameters, all intervals became limits, and that of layer_s.serving was widened from 20 to 5 us "
    "(the first form had held-out medians of about 14 %, and a bandwidth above the rated one; with the "
    "limit left at 20 us they were 7.8 and 13.5 %, relative to the prediction); the prior of "
    "layer_s.serving went from 50 to 40 us and HBM3 got one of its own, so neither is the column before "
    "any fit blind; "
    "held-out errors are those of parameters, not of these choices",
)
BOUND_ALONE, MODEL_LEFT_OUT = "bound_alone", "model_left_out"
KINDS = (BOUND_ALONE, "before_any_fit", "all_rows", MODEL_LEFT_OUT, "section_left_out")


def compare(published: Published, configs: Configs) -> Comparison:
    """The whole comparison; reads nothing but the rows and their configurations."""
    found = estimated(published.rows, configs)
    rows = [_row(row, configs, found) for row in published.rows if _in_table(row)]
    fitted = [row for row in rows if row["used"] == "fitted"]
    others = [*found.by_model.values(), *found.by_section.values()]
    return Comparison(
        kind=KIND,
        format=1,
        formula=FORMULA,
        error_definition=ERROR,
        parameters=parameters_of(found.all_rows, others),
        places=[_place(found.rows[id_]) for id_ in found.fitted],
        held_out_ratios=sorted(1 / (1 + _error(row, MODEL_LEFT_OUT)) for row in fitted),
        inseparable=moving_together([found.points[id_] for id_ in found.fitted]),
        errors={kind: _summary((r["id"], _error(r, kind)) for r in fitted) for kind in KINDS},
        errors_by_section={
            section: _summary(
                (r["id"], _error(r, MODEL_LEFT_OUT)) for r in fitted if r["section"] == section
            )
            for section in dict.fromkeys(r["section"] for r in fitted)
        },
        rows=rows,
        granted=[_granted(r, configs) for r in published.rows if r.judged is Judged.blocks],
        claims=[_claim(r, configs) for r in published.rows if r.judged is Judged.claim],
        assumptions=list(ASSUMPTIONS),
    )  # fmt: skip


def _in_table(row: Row) -> bool:
    return row.judged not in (Judged.blocks, Judged.claim)


def _row(row: Row, configs: Configs, found: Estimated) -> RowResult:
    bound = row_bound(row, configs)
    ttft = next((row.measured[n] for n in ("ttft_mean_ms", "ttft_ms") if n in row.measured), None)
    return RowResult(
        id=row.id,
        section=row.section,
        source=row.source,
        quality=row.quality,
        judged=row.judged,
        model=row.model,
        config=row.config,
        config_reason=row.config_reason,
        device=row.device,
        device_reason=row.device_reason,
        engine=" ".join(filter(None, (row.engine, row.engine_version))),
        precision=row.precision,
        layout=layout_text(row),
        layout_from=row.layout_from,
        batch=row.batch,
        batch_from=row.load.batch_from if row.load.requests_per_s else None,
        context_tokens=row.context,
        context_from=row.load.context_from,
        measured=dict(row.measured),
        measured_s=bound.measured_s if bound else None,
        bound_s=bound.bound_s if bound else None,
        bound_over_measured=bound.ratio if bound else None,
        published_bound_s=None if row.published_bound_ms is None else row.published_bound_ms / 1000,
        verdict=bound.verdict if bound else None,
        used=_used(row, bound, found),
        estimates=found.of(row.id) if row.id in found.points else None,
        ttft_s=None if ttft is None else ttft / 1000,
        ttft_estimate_s=ttft_estimate_s(row, configs, found),
        reason=row.reason or row.unfit or (bound.reason if bound and row.batch is None else None),
        remark=row.remark,
    )


def _used(row: Row, bound: RowBound | None, found: Estimated) -> str:
    if row.id in found.fitted:
        return "fitted"
    if row.id in found.points:
        return "checked"
    return "bound only" if bound else "not judged"


def layout_text(row: Row) -> str:
    """Devices and degrees, as TP2 or DP128 EP128."""
    named = (("TP", row.layout.tensor), ("DP", row.layout.data), ("EP", row.layout.expert))
    return " ".join(f"{name}{degree}" for name, degree in named if degree > 1) or "1 device"


def _place(row: Row) -> PlaceRow:
    place = place_of(row)
    tensor, expert, data = place.layout
    return PlaceRow(
        device=place.device,
        engine=place.engine,
        tensor=tensor,
        expert=expert,
        data=data,
        rows=place.rows,
        context=place.context,
    )


def _granted(row: Row, configs: Configs) -> GrantedRow:
    """Blocks that follow from the configuration and one stated remainder, beside those granted."""
    memory: Mapping[str, float] = row.memory or {}
    model = laid_out(row, configs, kv_dtype=None)
    budget = EngineBudget(
        total_bytes=int(memory["total_bytes"]),
        utilization=memory["utilization"],
        weight_bytes=model.rank.weight_bytes,
        remainder_bytes=REMAINDER_BYTES,
        remainder_source="assumption",
    )
    per_token = sum(c.bytes_per_token for c in model.rank.classes if c.growth == "linear")
    granted = int(row.measured["kv_blocks"])
    blocks = granted_blocks(budget, bytes_per_token=per_token, block_tokens=BLOCK_TOKENS)
    return GrantedRow(
        id=row.id,
        granted_blocks=granted,
        estimated_blocks=blocks,
        error=blocks / granted - 1,
        implied_remainder_bytes=implied_remainder_bytes(
            budget, blocks=granted, bytes_per_token=per_token
        ),
        assumed_remainder_bytes=REMAINDER_BYTES,
    )


def _claim(row: Row, configs: Configs) -> ClaimRow:
    model, roofs = bound_model(row, configs)
    rate, batch = row.measured["tokens_per_s"], row.batch or 1
    claim = Claim(step_s=batch / rate, batch=batch, context=row.context or 1)
    checked = check_claim(claim, model, roofs)
    return ClaimRow(
        id=row.id,
        claimed_tokens_per_s=rate,
        verdict=checked.verdict,
        reason=checked.reason,
        bound_s=checked.bound_s,
        tokens_per_s_at_most=checked.tokens_per_s_at_most,
        conditions=list(checked.conditions),
    )


def _error(row: RowResult, kind: str) -> float:
    """The row's error of a kind; ``bound_alone`` takes the bound for an estimate, which it is not."""
    estimates = row["estimates"]
    bound = row["bound_over_measured"]
    value = (
        estimates.get(f"{kind}_error") if estimates and kind != BOUND_ALONE else (bound or 0) - 1
    )
    return value if isinstance(value, float) else float("inf")


def _summary(errors: Iterable[tuple[str, float]]) -> ErrorSummary:
    found = {id_: abs(error) for id_, error in errors}
    sizes = list(found.values())
    worst = max(found, key=lambda id_: found[id_])
    return ErrorSummary(
        n=len(sizes),
        median=float(np.median(sizes)),
        p90=float(np.quantile(sizes, 0.9)),
        worst=found[worst],
        worst_row=worst,
    )
