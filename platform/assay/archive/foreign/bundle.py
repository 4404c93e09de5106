"""Seal another tool's result into an E1 bundle: its files whole, its calls, a gap for all that it lacks."""

import hashlib
import json
import shutil
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.archive.foreign import stored
from assay.archive.foreign.lacks import gaps_of
from assay.archive.foreign.result import ForeignResult
from assay.archive.foreign.table import TITLES, Found
from runners.protocol import clocks, layout, manifest
from runners.protocol.documents import IDENTITY_ITEMS, IdentityItem, ObservationPoint
from runners.protocol.events import EvidenceStrength, ResourceLimit, RunState, SessionEvent

_NAMESPACE = uuid.UUID("b7f4c2f6-50f0-5d53-9d39-0a4e4a0c86d1")
_DOMAIN = "foreign_client"


def seal(found: Found, out: Path) -> str:
    """Write a sealed bundle into the new folder ``out`` and return its digest.

    Run and execution ids follow from the files: the same result sealed again is the same execution.
    """
    result = found.result
    out.mkdir(parents=True)
    original = out / layout.FOREIGN_ORIGINAL
    original.mkdir(parents=True)
    for path in found.files:
        shutil.copyfile(path, original / path.name)
    stored.write(out, result)
    spec = _spec(result)
    for name, document in (
        (layout.SPEC, spec),
        (layout.IDENTITY, _identity(result)),
        (layout.OBSERVATION, _observation()),
        (layout.CLOCKS, _clocks(result)),
    ):
        (out / name).write_bytes(manifest.canonical(document))
    _write_gaps(out / layout.SESSION, result)
    key = {k: v for k, v in spec.items() if k != "study"}
    run_id = uuid.uuid5(_NAMESPACE, _content_key(out))
    newest = max(path.stat().st_mtime for path in found.files)
    return manifest.build(
        out,
        header={
            "run_id": str(run_id),
            "execution_id": str(uuid.uuid5(run_id, "execution")),
            "repetition": 0,
            "study": f"imported-{result.tool}",
            "state": RunState.sealed.value,
            "spec_digest": hashlib.sha256(manifest.canonical(key)).hexdigest(),
            "plan_digest": None,
            "predictions_digest": None,
            "level": ResourceLimit.E1.value,
            "sealed_at": clocks.utc(datetime.fromtimestamp(newest, tz=UTC)),
        },
    )


def _content_key(out: Path) -> str:
    """The digests of the files and of what was chosen of them, which is part of what was sealed."""
    digests = {p.name: manifest.sha256_of(p) for p in (out / layout.FOREIGN_ORIGINAL).iterdir()}
    calls = manifest.sha256_of(out / layout.FOREIGN_CALLS)
    return manifest.canonical({"files": digests, "calls": calls}).decode()


def _spec(result: ForeignResult) -> dict[str, Any]:
    """Nothing was declared to us; what the file names is kept as the tool's own words."""
    title = TITLES[result.tool]
    return {
        "study": {"name": f"imported-{result.tool}"},
        "artifact": {"name": result.model or "unknown"},
        "engine": {"key": "unknown", "version": "unknown"},
        "device": {"name": "unknown", "kind": "unknown"},
        "contract": {"name": "none"},
        "source": {"tool": result.tool, "title": title, "version": result.version},
    }


def _identity(result: ForeignResult) -> dict[str, Any]:
    items = [
        IdentityItem(
            item=name,
            declared=None,
            ran=None,
            strength=EvidenceStrength.none.value,
            evidence=[],
            reason=f"a result of {TITLES[result.tool]}: it does not say what ran",
        )
        for name in IDENTITY_ITEMS
    ]
    return {
        "artifact": None,
        "run": items,
        "complete": False,
        "missing": ["artifact", *IDENTITY_ITEMS],
    }


def _observation() -> dict[str, Any]:
    point = ObservationPoint(
        point="foreign_client",
        sees="what another load client recorded of its requests, as the tool reported",
        layer="foreign_client",
        perspective="client",
        clock_domain=_DOMAIN,
        rate_hz=None,
        dropped=None,
        level=ResourceLimit.E1.value,
    )
    return {
        "points": [point],
        "level": ResourceLimit.E1.value,
        "streams": {},
        "content": "keep",
    }


def _clocks(result: ForeignResult) -> dict[str, Any]:
    return {
        "origin_ns": 0,
        "client_domain": _DOMAIN,
        "domains": [
            {
                "id": _DOMAIN,
                "host": "unknown",
                "boot_id": "unknown",
                "time_namespace": "unknown",
                "clock": result.clock,
                "calibration": "uncalibrated",
                "error_ns": None,
            }
        ],
        "anchors": [],
        "sync": {"state": "unknown", "reason": "recorded by another tool"},
        "client_error": {},
    }


def _write_gaps(path: Path, result: ForeignResult) -> None:
    rows: list[Mapping[str, Any]] = [
        {"event": SessionEvent.gap.value, "t_ns": 0, "clock_domain": _DOMAIN, **gap}
        for gap in gaps_of(result)
    ]
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows),
        encoding="utf-8",
    )
