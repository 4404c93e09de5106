"""Reads, for the checklist, what a run's bundle and its reading say. Files in, values out."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from assay.analysis.record_completeness import Measured
from assay.archive.derived_schemas import ATTEMPTS
from assay.archive.paths import Home
from assay.archive.remote.fetching import bundle_folder
from assay.archive.stored_reading import StoredReading
from assay.ledger.models import Bundle, Interpretation, Run
from assay.review.facts import Facts
from runners.protocol import layout


def facts_of(run: Run, bundle: Bundle, interpretation: Interpretation, *, home: Home) -> Facts:
    """What the archive says of one run. A file that is not on this machine says nothing."""
    folder = bundle_folder(home, bundle.digest)
    stored = StoredReading(home.derived / bundle.digest / interpretation.definition_version)
    reading: dict[str, Any] = dict(stored.run()) if stored.present else {}
    observation = _json(folder / layout.OBSERVATION) or {}
    return Facts(
        name=f"{run.study.name} #{run.position}",
        spec=dict(run.spec),
        level=bundle.level,
        identity=_json(folder / layout.IDENTITY),
        points=observation.get("points", ()) if isinstance(observation, dict) else observation,
        clocks=_json(folder / layout.CLOCKS),
        predictions=_json(folder / layout.PREDICTIONS),
        predictions_first=_predictions_first(folder / layout.SESSION),
        reading=reading,
        cancel_checks=stored.checks(),
        measured=_measured(stored, reading),
    )


def _measured(stored: StoredReading, reading: dict[str, Any]) -> Measured:
    rules = sorted(
        {
            a["rule"]
            for a in reading.get("aggregates") or ()
            if a["rule"].startswith(("ttft.", "tpot.")) and a.get("value") is not None
        }
    )
    attempts = stored.table(ATTEMPTS)
    if attempts is None:
        return Measured(timing_rules=rules)
    known = attempts.collect_schema().names()
    names = [n for n in ("prompt_tokens", "usage", "cached_tokens") if n in known]
    completed = attempts.filter(pl.col("client_state") == "completed")
    counts = completed.select(pl.col(n).count() for n in names).collect().row(0, named=True)
    return Measured(
        input_lengths=counts.get("prompt_tokens", 0),
        output_lengths=counts.get("usage", 0),
        cached_tokens_known=counts.get("cached_tokens", 0) > 0,
        timing_rules=rules,
    )


def _predictions_first(session: Path) -> bool | None:
    """Whether the session log has the registration before the launch; None where it lacks one of them."""
    if not session.is_file():
        return None
    order: dict[str, int] = {}
    for number, line in enumerate(session.read_text(encoding="utf-8").splitlines()):
        order.setdefault(_event(line), number)
    registered, launched = order.get("predictions_registered"), order.get("launch")
    if registered is None or launched is None:
        return None
    return registered < launched


def _event(line: str) -> str:
    try:
        row = json.loads(line)
    except ValueError:
        return ""
    return str(row.get("event", "")) if isinstance(row, dict) else ""


def _json(path: Path) -> Any:
    return json.loads(path.read_bytes()) if path.is_file() else None
