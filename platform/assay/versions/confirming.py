"""Link a version record to a run that showed it; refuse what the run's evidence does not carry.

A run shows a version when the running engine answered that version itself. It shows a change when a line of
its own log names it. A declaration shows nothing.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from django.conf import settings
from packaging.version import InvalidVersion, Version

from assay.archive.paths import Home
from assay.archive.readers import Bundle as BundleFolder
from assay.ledger.models import Bundle, Run
from assay.ledger.queries import bundle_of
from assay.versions.models import Confirmation
from experiments.changes import catalogue
from experiments.changes.record import VersionRecord
from experiments.errors import Refusal, refuse
from runners.protocol import layout
from runners.protocol.documents import Evidence, Pointer
from runners.protocol.events import EvidenceStrength

THE_VERSION = ""
_CARRYING = (EvidenceStrength.log.value, EvidenceStrength.trace.value)


def confirm_version(run: Run, bundle: Bundle, folder: Path) -> Confirmation | None:
    """Link the record of the version that ran, if there is one and the run shows it; else None."""
    found = _answered(BundleFolder(folder).document(layout.IDENTITY))
    if found is None:
        return None
    version, evidence = found
    record = _record(run.engine_key, version)
    return _link(record, THE_VERSION, run, bundle, evidence) if record else None


def confirm_change(run: Run, statement: str, pointer: Pointer) -> Confirmation:
    """Link one change of the record of the run's version to a line of the run's bundle that names it.

    Raises Refusal without the version shown, for a change of no record, and for a line that names it not.
    """
    bundle = bundle_of(run)
    if bundle is None:
        raise _refused("run", str(run.pk), "a run with a sealed bundle", "Run it to its end.")
    folder = Home(settings.HOME).bundle(bundle.digest)
    version = confirm_version(run, bundle, folder)
    if version is None:
        raise _refused(
            "run",
            f"{run.engine_key} {run.engine_version}: the engine's own word on its version is missing",
            "a run whose engine answered the version of a record",
            "A declared version shows nothing.",
        )
    record = _of(version.record)
    names = [name for change in record.changes for name in change.names]
    if statement not in names:
        allowed = ", ".join(names) or "none: this record has no changes"
        raise _refused("statement", statement, allowed, "Name a change of this record.")
    _check_line(folder, pointer, statement)
    evidence: Evidence = {
        "strength": EvidenceStrength.log.value,
        "statement": statement,
        "pointer": pointer,
        "conditions": {},
        "engine_version": record.version,
        "t_ns": None,
    }
    return _link(record, statement, run, bundle, [evidence])


def _check_line(folder: Path, pointer: Pointer, statement: str) -> None:
    """The line must be of the engine's log: what the declaration or the command says is no evidence."""
    if pointer["file"] != layout.ENGINE_LOG:
        raise _refused(
            "evidence",
            pointer["file"],
            layout.ENGINE_LOG,
            "Point at a line that the engine printed.",
        )
    number, path = pointer.get("line", 0), folder / layout.ENGINE_LOG
    with path.open(encoding="utf-8", errors="replace") as lines:
        text = next((line for n, line in enumerate(lines, start=1) if n == number), None)
    if text is None or statement not in text:
        seen = "no such line" if text is None else text.strip()[:200]
        raise _refused("evidence", seen, f"a line that names {statement}", "Point at that line.")


def _link(
    record: VersionRecord, statement: str, run: Run, bundle: Bundle, evidence: Sequence[Evidence]
) -> Confirmation:
    strongest = max(evidence, key=lambda e: _CARRYING.index(e["strength"]))
    found, _ = Confirmation.objects.get_or_create(
        record=record.id,
        statement=statement,
        bundle=bundle,
        defaults={
            "run": run,
            "strength": strongest["strength"],
            "evidence": [e["pointer"] for e in evidence],
        },
    )
    return found


def _answered(document: Mapping[str, Any] | None) -> tuple[str, list[Evidence]] | None:
    """The version that the running engine gave when it was asked, with the evidence; None without any.

    The document may come from elsewhere: whatever is not of the known form shows nothing.
    """
    items = (document or {}).get("run")
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, Mapping) or item.get("item") != "engine_version":
            continue
        ran, evidence = item.get("ran"), item.get("evidence")
        answered = ran.get("answered") if isinstance(ran, Mapping) else None
        carrying = [e for e in evidence if _carries(e)] if isinstance(evidence, list) else []
        if isinstance(answered, str) and carrying:
            return answered, cast("list[Evidence]", carrying)
    return None


def _carries(evidence: Any) -> bool:
    return (
        isinstance(evidence, Mapping)
        and evidence.get("strength") in _CARRYING
        and "pointer" in evidence
    )


def _record(engine: str, version: str) -> VersionRecord | None:
    try:
        return catalogue.find(engine, Version(version).public)
    except InvalidVersion:
        return None


def _of(record: str) -> VersionRecord:
    engine, _, version = record.partition(" ")
    found = catalogue.find(engine, version)
    assert found is not None
    return found


def _refused(field: str, seen: str, allowed: str, remedy: str) -> Refusal:
    return refuse(field=field, seen=seen, allowed=allowed, remedy=remedy)
