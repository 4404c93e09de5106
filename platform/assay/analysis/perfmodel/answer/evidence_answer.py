"""What the answer does not settle: the ledger's empty columns, and hypotheses with the measurements they
need."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from assay.analysis.perfmodel.format_record import FormatRecord
from assay.analysis.perfmodel.hypotheses import (
    DECODE,
    PREFILL,
    Hypothesis,
    deciding_measurements,
)
from assay.analysis.perfmodel.quantization.declared import Declared
from assay.analysis.perfmodel.state import StateClass
from assay.analysis.perfmodel.state_ledger import EXCLUDED, ledger


def ledger_entries(classes: Sequence[StateClass], *, tokens: int, place: str) -> dict[str, Any]:
    """Every state entry with its three columns, and what no figure contains."""
    return {
        "entries": [asdict(entry) for entry in ledger(classes, tokens=tokens, place=place)],
        "excluded": list(EXCLUDED),
    }


def format_records(declared: Declared) -> list[dict[str, Any]]:
    """Weights and K/V as designed and as executed; what nothing has run yet is the design alone."""
    stored = "unknown" if declared.stored is None else declared.stored.label
    executed = declared.weights.label
    weights = FormatRecord(
        what="weights",
        designed=stored,
        designed_source="the model's files",
        executed=None if executed == stored else executed,
        executed_evidence=None if executed == stored else "stated on the command line",
    )
    state = FormatRecord(
        what="K/V cache",
        designed=declared.kv_dtype,
        designed_source=declared.kv_source,
        executed=None,
        executed_evidence=None,
    )
    return [
        {
            **asdict(record),
            "budget_format": record.budget_format,
            "budget_basis": record.budget_basis,
            "gap": record.gap(),
        }
        for record in (weights, state)
    ]


def open_hypotheses(*, decode_bound_by: str | None, prefill_bound_by: str | None) -> dict[str, Any]:
    """Hypotheses by phase. A bound points at some of them; only a deciding measurement names one."""
    return {
        "decode": _phase(DECODE, decode_bound_by),
        "prefill": _phase(PREFILL, prefill_bound_by),
    }


def _phase(hypotheses: Sequence[Hypothesis], bound_by: str | None) -> dict[str, Any]:
    return {
        "bound_points_at": bound_by,
        "named": None,
        "why_none_is_named": "a bound is no measurement: one of the deciding measurements is needed",
        "deciding_measurements": list(deciding_measurements(hypotheses)),
        "hypotheses": [
            {"name": h.name, "statement": h.statement, "predicts": dict(h.predicts)}
            for h in hypotheses
        ],
    }
