"""Predictions count only as they were before the launch: their digest is noted then and held to later."""

import json
import shutil
from collections.abc import Mapping
from typing import Any

from runners.protocol import layout, manifest
from runners.protocol.documents import Gap
from runners.protocol.events import SessionEvent
from runners.protocol.session_log import SessionLog
from runners.protocol.workspace import Workspace


def register(workspace: Workspace, context: Mapping[str, Any], log: SessionLog) -> None:
    """Before the launch: write the digest of the predictions into the session log and keep their text."""
    present = workspace.bundle / layout.PREDICTIONS
    problem = _problem(workspace, context)
    if problem is None:
        kept = workspace.registered_predictions
        kept.parent.mkdir(exist_ok=True)
        shutil.copyfile(present, kept)
        log.write(
            SessionEvent.predictions_registered,
            sha256=manifest.sha256_of(present),
            registered_at=json.loads(present.read_bytes()).get("registered_at"),
        )
        return
    log.gap(
        Gap(
            what=f"no prediction is registered: {problem}",
            affects="every residual of this run",
            needed="predictions of this plan, written before `python -m runners execute`",
            state="open",
        )
    )


def _problem(workspace: Workspace, context: Mapping[str, Any]) -> str | None:
    """Why there is nothing to register; None if there is."""
    present = workspace.bundle / layout.PREDICTIONS
    if not present.exists():
        return "no predictions.json lay in the bundle before the launch"
    try:
        stated = json.loads(present.read_bytes())
    except ValueError as error:
        return f"predictions.json is no JSON ({error})"
    for name in ("spec_digest", "plan_digest"):
        if context.get(name) is not None and stated.get(name) != context[name]:
            return f"its {name} is {stated.get(name)}, this run's is {context[name]}"
    return None


def withdraw_late(workspace: Workspace, log: SessionLog) -> None:
    """At the sealing: whatever is not the registered text leaves the bundle, named."""
    present, registered = (
        workspace.bundle / layout.PREDICTIONS,
        workspace.registered_predictions,
    )
    if not present.exists() and not registered.exists():
        return
    if registered.exists():
        if present.exists() and present.read_bytes() == registered.read_bytes():
            return
        what = "predictions.json was changed after the launch; the registered text is kept"
        content = registered.read_bytes()
        present.unlink(missing_ok=True)
        present.write_bytes(content)
    else:
        late = workspace.root / "late" / layout.PREDICTIONS
        late.parent.mkdir(exist_ok=True)
        present.replace(late)
        what = "predictions.json is late: it appeared after the launch and was left out"
    log.gap(
        Gap(
            what=what,
            affects="every residual of this run: a prediction after the result is none",
            needed="predictions registered before the launch of another run",
            state="open",
        )
    )
