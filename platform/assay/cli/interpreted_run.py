"""The stored interpretation of a run that a person names, or the complaint and its exit code."""

from dataclasses import dataclass
from typing import Any

from assay.archive.stored_reading import StoredReading
from assay.cli.database import open_or_complain
from assay.cli.exits import LACKING, REFUSED, complain


@dataclass(frozen=True, slots=True, kw_only=True)
class InterpretedRun:
    run_id: str
    reading: StoredReading


def interpreted_run(named: str) -> InterpretedRun | int:
    """``named``: run id or its beginning, or a bundle's digest. An exit code where there is no reading."""
    if (code := open_or_complain()) is not None:
        return code
    from assay.cli.lookup import AmbiguousRun, one_run

    try:
        found = one_run(named)
    except AmbiguousRun as error:
        complain(str(error))
        return REFUSED
    reading = _stored(found)
    if reading is None:
        complain(
            f"interpretation of run {found.id}: none on this machine (allowed: a run that was interpreted). "
            f"`assay show {found.id}` says what became of it"
        )
        return LACKING
    return InterpretedRun(run_id=str(found.id), reading=reading)


def _stored(found: Any) -> StoredReading | None:
    from django.conf import settings

    from assay.archive.paths import Home
    from assay.ledger import queries

    bundle = queries.bundle_of(found)
    newest = queries.interpretation_of(bundle) if bundle else None
    if bundle is None or newest is None:
        return None
    reading = StoredReading(Home(settings.HOME).derived / bundle.digest / newest.definition_version)
    return reading if reading.present else None
