"""Seal a stream that was recorded (or constructed) elsewhere into an E0 bundle.

Such a bundle holds the stream itself, what was declared beside it, and which clocks and observation points it
has. It ran on no device, so nothing in it is verified beyond E0: identity items stay unknown and the run
stays incomplete. ``python -m assay.archive.sample FOLDER OUT`` seals ``FOLDER/{wire.jsonl, events.jsonl,
declaration.json}``.
"""

import hashlib
import json
import shutil
import sys
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.analysis.errors import AnalysisError, BadRecord
from assay.analysis.recorded import RecordedStream
from runners.protocol import clocks, layout, manifest
from runners.protocol.documents import IDENTITY_ITEMS, IdentityItem, ObservationPoint
from runners.protocol.events import EvidenceStrength, ResourceLimit, RunState

DECLARATION = "declaration.json"
WIRE = "wire.jsonl"
EVENTS = "events.jsonl"
_NAMESPACE = uuid.UUID("5f1d9d3e-7f0c-5a64-9b39-3c6d0f6a2b11")
_DECLARED = ("artifact", "engine", "device", "contract")


def build_e0_bundle(
    *,
    wire: Path,
    events: Path | None,
    declaration: Mapping[str, Any],
    out: Path,
    sealed_at: datetime,
) -> str:
    """Write a sealed bundle into the new folder ``out`` and return its digest.

    The stream is read once before anything is written, so that one that cannot be read is refused. Run and
    execution ids follow from the bytes: sealing the same stream and declaration again is the same execution.
    """
    _check(wire, events, declaration)
    out.mkdir(parents=True)
    (out / layout.RECORDED_WIRE).parent.mkdir()
    shutil.copyfile(wire, out / layout.RECORDED_WIRE)
    if events is not None:
        shutil.copyfile(events, out / layout.RECORDED_EVENTS)
    spec = {k: v for k, v in declaration.items() if k != "clock"}
    _write(out / layout.SPEC, spec)
    _write(out / layout.IDENTITY, _identity())
    _write(out / layout.OBSERVATION, _observation(declaration, has_events=events is not None))
    _write(out / layout.CLOCKS, _clocks(declaration))
    key = {k: v for k, v in spec.items() if k != "study"}
    spec_digest = hashlib.sha256(manifest.canonical(key)).hexdigest()
    content = manifest.sha256_of(wire) + (manifest.sha256_of(events) if events else "")
    run_id = uuid.uuid5(_NAMESPACE, f"run {spec_digest} {content}")
    return manifest.build(
        out,
        header={
            "run_id": str(run_id),
            "execution_id": str(uuid.uuid5(run_id, "execution")),
            "repetition": 0,
            "study": str(declaration.get("study", {}).get("name", "recorded")),
            "state": RunState.sealed.value,
            "spec_digest": spec_digest,
            "plan_digest": None,
            "predictions_digest": None,
            "level": ResourceLimit.E0.value,
            "sealed_at": clocks.utc(sealed_at),
        },
    )


def _check(wire: Path, events: Path | None, declaration: Mapping[str, Any]) -> None:
    for name in _DECLARED:
        if not isinstance(declaration.get(name), Mapping):
            raise BadRecord(
                field=f"{DECLARATION} {name}",
                seen=repr(declaration.get(name)),
                allowed="an object",
                remedy="Declare artifact, engine, device and contract of the recorded stream.",
            )
    with wire.open("rb") as rows:
        if events is None:
            RecordedStream(rows, wire_file=wire.name)
            return
        with events.open("rb") as beside:
            RecordedStream(rows, beside, wire_file=wire.name, events_file=events.name)


def _identity() -> dict[str, Any]:
    items = [
        IdentityItem(
            item=name,
            declared=None,
            ran=None,
            strength=EvidenceStrength.none.value,
            evidence=[],
            reason="a recorded stream without a device: nothing ran here",
        )
        for name in IDENTITY_ITEMS
    ]
    missing = ["artifact", *IDENTITY_ITEMS]
    return {"artifact": None, "run": items, "complete": False, "missing": missing}


def _observation(declaration: Mapping[str, Any], *, has_events: bool) -> dict[str, Any]:
    clock = declaration.get("clock") or {}
    client = str(clock.get("client_domain", "unspecified"))
    foreign = [d["id"] for d in clock.get("domains", []) if d["id"] != client]
    points = [_point("recorded_wire", "the client's record of the stream", "client", client)]
    if has_events:
        server = foreign[0] if foreign else client
        points.append(_point("recorded_events", "events beside the stream", "server", server))
    return {
        "points": points,
        "level": ResourceLimit.E0.value,
        "streams": {},
        "content": "keep",
    }


def _point(point: str, sees: str, perspective: str, domain: str) -> ObservationPoint:
    return ObservationPoint(
        point=point,
        sees=sees,
        layer="client_socket" if perspective == "client" else "engine_events",
        perspective=perspective,
        clock_domain=domain,
        rate_hz=None,
        dropped=None,
        level=ResourceLimit.E0.value,
    )


def _clocks(declaration: Mapping[str, Any]) -> dict[str, Any]:
    clock = declaration.get("clock") or {}
    return {
        "origin_ns": 0,
        "client_domain": clock.get("client_domain", "unspecified"),
        "domains": [
            {
                "id": d["id"],
                "host": "unknown",
                "boot_id": "unknown",
                "time_namespace": "unknown",
                "clock": d["id"],
                "calibration": d.get("calibration", "uncalibrated"),
                "error_ns": d.get("error_ns"),
            }
            for d in clock.get("domains", [])
        ],
        "anchors": [],
        "sync": {"state": "unknown", "reason": "recorded elsewhere"},
        "client_error": {},
    }


def _write(path: Path, document: Mapping[str, Any]) -> None:
    path.write_bytes(manifest.canonical(document))


def main(arguments: Sequence[str]) -> int:
    """``FOLDER OUT``: seal the stream in FOLDER into the new bundle folder OUT and print its digest."""
    if len(arguments) != 2:
        sys.stderr.write("usage: python -m assay.archive.sample FOLDER OUT\n")
        return 2
    folder, out = Path(arguments[0]), Path(arguments[1])
    if out.exists():
        sys.stderr.write(f"error: OUT: {out} exists (allowed: a new folder). Name another one\n")
        return 2
    events = folder / EVENTS
    try:
        digest = build_e0_bundle(
            wire=folder / WIRE,
            events=events if events.is_file() else None,
            declaration=json.loads((folder / DECLARATION).read_bytes()),
            out=out,
            sealed_at=datetime.now(UTC),
        )
    except (AnalysisError, OSError, ValueError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    sys.stdout.write(f"{digest}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
