"""A stored bundle of 28 attempts with its reading, without a database."""

from pathlib import Path

from assay.analysis.definition import DEFINITION_VERSION
from assay.archive.paths import Home
from tests.assay.archive import written
from tests.assay.pages import simulated, simulated_bundle


def stored_run(home: Home, scratch: Path) -> str:
    """Its digest."""
    staged = scratch / "staged"
    digest = simulated_bundle.write(staged, concurrency=4)
    stored = home.bundle(digest)
    stored.parent.mkdir(parents=True)
    staged.rename(stored)
    folder = home.derived / digest / DEFINITION_VERSION
    folder.mkdir(parents=True)
    written.write(folder, simulated.interpretation(digest, simulated.aggregates(1.0)))
    return digest
