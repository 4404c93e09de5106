"""Read a short run in the process that has just sealed it: what a reading needs of Arrow is loaded there.

A run that is worth several processes is left for ``interpretation`` in a process of its own, and so is one
whose reading failed here: that says why.
"""

import gc
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str]) -> None:
    """``BUNDLE DERIVED_ROOT``."""
    bundle, derived_root = map(Path, arguments)
    gc.freeze()  # what the run left behind is not looked at again
    gc.set_threshold(50_000, 20, 100)
    # Loaded now: before the load it would have disturbed the client.
    from assay.analysis.errors import AnalysisError
    from assay.archive.errors import ArchiveError
    from assay.archive.interpretation import interpret
    from assay.archive.readers import Bundle
    from assay.archive.reading_map import is_short

    if is_short(Bundle(bundle).wire_files()):
        try:
            interpret(bundle, derived_root, processors=1)
        except (AnalysisError, ArchiveError):
            return
