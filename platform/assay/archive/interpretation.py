"""Read a sealed bundle and write its interpretation below ``derived/<digest>/<definition version>/``.

The same bundle and definition give the same bytes. A derived folder is never changed: a second reading is
compared with the first and must be equal to it. Runs as a process of its own, without Django:
``python -m assay.archive.interpretation BUNDLE DERIVED_ROOT``.
"""

import filecmp
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from assay.analysis.definition import DEFINITION_VERSION
from assay.analysis.documents import RunReading
from assay.analysis.errors import AnalysisError
from assay.archive.errors import ArchiveError
from assay.archive.readers import Bundle
from assay.archive.reading_map import reading_map
from assay.archive.run_bundle import read_run
from runners.protocol import layout, manifest

INTERPRETATION = "interpretation.json"


class UnlikeFirstReading(ArchiveError):
    """The same definition version read the same bundle differently: the definition changed under its name."""


def interpret(bundle: Path, derived_root: Path, *, processors: int | None = None) -> Path:
    """The path of ``interpretation.json`` for this bundle and definition version, written if it is new.

    ``processors`` bounds the worker processes; it changes no byte of what is written.
    """
    source = Bundle(bundle)
    target = derived_root / source.digest / DEFINITION_VERSION
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".reading-", dir=target.parent))
    try:
        reading = _read(source, scratch, processors=processors)
        (scratch / INTERPRETATION).write_bytes(manifest.canonical(reading))
        _put(scratch, target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target / INTERPRETATION


def _put(scratch: Path, target: Path) -> None:
    if not target.exists():
        scratch.chmod(0o755)
        try:
            os.rename(scratch, target)  # noqa: PTH104 - must fail, not replace, when somebody was first
        except OSError:
            if not target.exists():
                raise
        else:
            return
    differs = [p.name for p in sorted(scratch.iterdir()) if not _same(p, target / p.name)]
    if differs:
        raise UnlikeFirstReading(
            f"{target}: this reading differs from it in {', '.join(differs)} (allowed: the same bytes). "
            "Give the changed definition a version of its own"
        )


def _same(one: Path, other: Path) -> bool:
    return other.is_file() and filecmp.cmp(one, other, shallow=False)


def _read(source: Bundle, scratch: Path, *, processors: int | None) -> RunReading:
    """By what the bundle is around: a run of ours, a recorded stream, another client's result."""
    is_recorded = (source.folder / layout.RECORDED_WIRE).is_file()
    if is_recorded or (source.folder / layout.FOREIGN_TOOL).is_file():
        from assay.archive import whole_bundles  # readers that a run of ours has no use for

        read_whole = whole_bundles.read_recorded_bundle
        return (read_whole if is_recorded else whole_bundles.read_foreign_bundle)(source, scratch)
    with (
        tempfile.TemporaryDirectory(prefix=".columns-", dir=scratch.parent) as aside,
        reading_map(source.wire_files(), processors=processors) as read,
    ):
        return read_run(source, scratch, Path(aside), read)


def spare_collections() -> None:
    """Nothing that is read hangs in circles: look for such rarely, and never at what was imported."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def main(arguments: Sequence[str]) -> int:
    """``BUNDLE DERIVED_ROOT``: interpret and print the path of the document."""
    if len(arguments) != 2:
        sys.stderr.write("usage: python -m assay.archive.interpretation BUNDLE DERIVED_ROOT\n")
        return 2
    bundle, derived_root = (Path(a).resolve() for a in arguments)
    if not (bundle / layout.MANIFEST_DIGEST).is_file():
        sys.stderr.write(
            f"error: bundle: {bundle} holds no {layout.MANIFEST_DIGEST} (allowed: a sealed bundle). "
            "Name the folder of a bundle\n"
        )
        return 2
    spare_collections()
    try:
        path = interpret(bundle, derived_root)
    except AnalysisError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    except ArchiveError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
