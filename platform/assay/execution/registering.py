"""Register the predictions of a run: written before launch, so that nobody can say they came after."""

from datetime import UTC, datetime
from pathlib import Path

from assay.archive.paths import Home
from assay.execution.leases import Claim
from assay.execution.preparing import Prepared


def register_predictions(claim: Claim, prepared: Prepared, *, home: Home, bundle: Path) -> None:
    """Write ``predictions.json`` into the prepared bundle, unless the study declares none."""
    raise NotImplementedError
