"""Which runs a report speaks of, and their documents as the API gives them."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings

from assay.archive.paths import Home
from assay.ledger.comparing import run_name
from assay.ledger.models import Run
from assay.ledger.run_objects import run_object
from assay.ledger.shown import newest_interpretations, shown_bundles
from assay.pages.reports.sheet import Source


def sources(runs: Sequence[Run]) -> list[Source]:
    """Two queries, whatever the number of runs."""
    bundles = shown_bundles(runs)
    readings = newest_interpretations(bundle.digest for bundle in bundles.values())
    found = []
    for run in runs:
        bundle = bundles.get(run.pk)
        reading = readings.get(bundle.digest) if bundle else None
        found.append(
            Source(
                name=run_name(run),
                run=str(run.pk),
                state=run.state,
                bundle_digest=bundle.digest if bundle else "",
                spec_digest=run.spec_digest,
                definition_version=reading.definition_version if reading else "",
            )
        )
    return found


def run_documents(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Without the folder of the bundle: it means nothing elsewhere, and the digest names it."""
    home = Home(settings.HOME)
    return [
        {name: value for name, value in run_object(run, home).items() if name != "bundle"}
        for run in runs
    ]
