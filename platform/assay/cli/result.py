"""The machine-readable form of a run, and the few lines that a person gets after one."""

import sys
from pathlib import Path
from typing import Any

from django.conf import settings

from assay.analysis.boundary import mocked
from assay.analysis.documents import LEDGERS
from assay.archive.paths import Home
from assay.execution.interpreting import stored_reading
from assay.ledger import indexing, queries
from assay.ledger.models import Bundle, Run


def run_object(run: Run) -> dict[str, Any]:
    """The object of ``assay run --json``. A run without a bundle has nulls, and ``reason`` says why."""
    bundle = queries.bundle_of(run)
    found: dict[str, Any] = {
        "run": str(run.id),
        "study": run.study.name,
        "state": run.state,
        "reason": run.state_reason or None,
        "progress": run.progress,
        "bundle": str(bundle_folder(bundle)) if bundle else None,
        "bundle_digest": bundle.digest if bundle else None,
        "spec_digest": run.spec_digest,
        "definition_version": None,
        "ledgers": {name: {} for name in LEDGERS},
        "aggregates": [],
        "residuals": [],
        "gaps": [],
        "windows": [],
        "dependencies": [],
        "mocked": list(mocked(run.spec.get("boundary") or {})),
    }
    reading = _newest_reading(bundle) if bundle else None
    if reading is not None:
        found["definition_version"] = reading["definition_version"]
        found["ledgers"] = indexing.sorted_counts(reading)
        for name in ("aggregates", "residuals", "gaps", "windows"):
            found[name] = reading[name]
        found["dependencies"] = reading.get("dependencies", [])  # older readings have none
    return found


def _newest_reading(bundle: Bundle) -> Any:
    newest = queries.interpretation_of(bundle)
    if newest is None:
        return None
    home = Home(settings.HOME)
    return stored_reading(home, bundle.digest, version=newest.definition_version).document


def bundle_folder(bundle: Bundle) -> Path:
    return Home(settings.HOME).bundle(bundle.digest)


def where_to_look(run: Run) -> None:
    """After a run: its state, its bundle, and the commands that show more."""
    bundle = queries.bundle_of(run)
    lines = [f"run     {run.id}", f"state   {run.state}"]
    if run.state_reason:
        lines.append(f"reason  {run.state_reason}")
    if bundle is not None:
        lines.append(f"bundle  {bundle_folder(bundle)}")
    lines += [f"show    assay show {run.id}", f"page    assay up, then /runs/{run.id}"]
    sys.stdout.write("\n".join(lines) + "\n")
