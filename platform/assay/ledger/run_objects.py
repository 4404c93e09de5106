"""A run as ``assay run --json`` prints it and the API serves it: counts, numbers, residuals and gaps."""

from typing import Any

from assay.analysis.boundary import mocked
from assay.analysis.documents import LEDGERS, RunReading
from assay.archive.paths import Home
from assay.archive.stored_reading import StoredReading
from assay.ledger import indexing, queries
from assay.ledger.models import Bundle, Run

READ_OF_THE_BUNDLE = ("aggregates", "residuals", "gaps", "windows")


def run_object(run: Run, home: Home) -> dict[str, Any]:
    """A run without a bundle has nulls, and ``reason`` says why."""
    bundle = queries.bundle_of(run)
    found: dict[str, Any] = {
        "run": str(run.id),
        "study": run.study.name,
        "project": run.study.project.slug,
        "state": run.state,
        "reason": run.state_reason or None,
        "progress": run.progress,
        "artifact": run.artifact_name,
        "engine": f"{run.engine_key} {run.engine_version}",
        "device": run.device_name,
        "bundle": str(home.bundle(bundle.digest)) if bundle else None,
        "bundle_digest": bundle.digest if bundle else None,
        "spec_digest": run.spec_digest,
        "definition_version": None,
        "grade": None,  # of the client's own figures
        "ledgers": {name: {} for name in LEDGERS},
        "aggregates": [],
        "residuals": [],
        "gaps": [],
        "windows": [],
        "dependencies": [],
        "boundary": run.spec.get("boundary") or {},
        "mocked": list(mocked(run.spec.get("boundary") or {})),
    }
    stored = newest_reading(bundle, home) if bundle else None
    if stored is not None:
        _take(found, stored.run())
    return found


def newest_reading(bundle: Bundle, home: Home) -> StoredReading | None:
    """The newest interpretation of a bundle, if its files lie on this machine."""
    newest = queries.interpretation_of(bundle)
    if newest is None:
        return None
    stored = StoredReading(home.derived / bundle.digest / newest.definition_version)
    return stored if stored.present else None


def _take(found: dict[str, Any], reading: RunReading) -> None:
    found["definition_version"] = reading["definition_version"]
    found["grade"] = reading.get("grade")  # older readings have none
    found["ledgers"] = indexing.sorted_counts(reading)
    found.update({name: reading.get(name, []) for name in READ_OF_THE_BUNDLE})
    found["dependencies"] = reading.get("dependencies", [])  # older readings have none
