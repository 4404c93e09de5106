"""A run of a schedule as the science of regressions sees it: a start with its identity and its numbers."""

import hashlib
import json
from pathlib import Path
from typing import Any

from assay.analysis.grade import Letter
from assay.analysis.regression.series import Start
from assay.archive.paths import Home
from assay.archive.remote.fetching import bundle_folder
from assay.archive.start_identity import start_identity
from assay.ledger.models import Bundle, Interpretation, Measure, MeasureKind, Run
from assay.ledger.queries import bundle_of, interpretation_of
from assay.regressions.models import Watch
from runners.protocol import manifest
from runners.protocol.events import RunState

DEFINITION = "read.definition"


def metric_name(watch: Watch) -> str:
    return f"{watch.rule} {watch.statistic}"


def start_of(run: Run, home: Home, *, variable: str | None) -> Start:
    """Every number of its newest reading; a run that was not sealed has none."""
    bundle = bundle_of(run)
    reading = interpretation_of(bundle) if bundle is not None else None
    if run.state != RunState.sealed or bundle is None or reading is None:
        return Start(run=str(run.pk), ended=False, identity={}, values={})
    identity = start_identity(bundle_folder(home, bundle.digest), run.spec, variable=variable)
    identity[DEFINITION] = reading.definition_version
    letter, reasons = _grade(home, bundle, reading)
    return Start(
        run=str(run.pk),
        ended=True,
        identity=identity,
        values=_values(reading),
        invalid="; ".join(reasons) if letter == Letter.c else "",
        client_limited=letter == Letter.d,
    )


def segment_digest(start: Start) -> str:
    """The same for starts that may stand in one segment."""
    return hashlib.sha256(manifest.canonical(dict(start.identity))).hexdigest()


def _values(reading: Interpretation) -> dict[str, float | None]:
    rows = Measure.objects.filter(interpretation=reading)
    return {
        f"{row.rule} {row.statistic}": row.value if row.kind == MeasureKind.finite else None
        for row in rows
    }


def _grade(home: Home, bundle: Bundle, reading: Interpretation) -> tuple[str | None, list[str]]:
    path = _document(home, bundle, reading)
    try:
        found: dict[str, Any] = json.loads(path.read_bytes()).get("grade") or {}
    except (OSError, ValueError):
        return None, []
    return found.get("letter"), list(found.get("reasons") or [])


def _document(home: Home, bundle: Bundle, reading: Interpretation) -> Path:
    return home.derived / bundle.digest / reading.definition_version / "interpretation.json"
