"""Stored calibrations of a step: one file each below ``step_calibrations/<host>/``, never changed."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from assay.analysis.calibration import KIND, Calibration, CalibrationDocument, fitting
from assay.analysis.fitting.identity import identity_of
from assay.archive.paths import Home
from runners.protocol import host, manifest


def store(home: Home, document: CalibrationDocument) -> tuple[Path, Calibration]:
    """Write a calibration under the digest of its canonical bytes."""
    text = manifest.canonical(document)
    digest = hashlib.sha256(text).hexdigest()
    folder = home.step_calibrations / document["identity"]["host_fingerprint"]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{document['made_at'].replace(':', '').replace('-', '')}-{digest[:12]}.json"
    with path.open("xb") as stream:
        stream.write(text)
    return path, Calibration(document=document, digest=digest)


def stored_calibrations(home: Home, *, fingerprint: str) -> list[Calibration]:
    """Every readable calibration of one host, oldest first; a torn file is passed over."""
    found = []
    for path in sorted((home.step_calibrations / fingerprint).glob("*.json")):
        try:
            text = path.read_bytes()
            document = json.loads(text)
        except (OSError, ValueError):
            continue
        if isinstance(document, dict) and document.get("kind") == KIND:
            digest = hashlib.sha256(text).hexdigest()
            found.append(Calibration(document=cast("CalibrationDocument", document), digest=digest))
    return found


def calibration_for(home: Home, spec: Mapping[str, Any]) -> Calibration | None:
    """The newest calibration of this very host, engine and model; None if there is none."""
    fingerprint = host.fingerprint(host.describe())
    stored = stored_calibrations(home, fingerprint=fingerprint)
    return fitting(stored, identity_of(spec, fingerprint=fingerprint)) if stored else None
