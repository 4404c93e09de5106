"""Take in a result of another load client: read, sealed as an E1 bundle, then imported as every bundle is."""

import tempfile
from pathlib import Path

from assay.archive.foreign.bundle import seal
from assay.archive.foreign.table import read_result
from assay.archive.paths import Home
from assay.execution.importing import Imported, import_bundle


def import_result(
    source: Path, home: Home, *, owner: str, tool: str | None = None, part: int | None = None
) -> Imported:
    """Import a result file. Raises BadRecord, leaving nothing, for a file that no known tool writes."""
    found = read_result(source, tool=tool, part=part)
    home.scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="result-", dir=home.scratch) as temporary:
        folder = Path(temporary) / "bundle"
        seal(found, folder)
        return import_bundle(folder, home, owner=owner)
