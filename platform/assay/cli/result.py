"""The machine-readable form of a run, and the few lines that a person gets after one."""

import sys
from pathlib import Path
from typing import Any

from django.conf import settings

from assay.archive.paths import Home
from assay.ledger import queries, run_objects
from assay.ledger.models import Bundle, Run


def run_object(run: Run) -> dict[str, Any]:
    """The object of ``assay run --json``, with paths of this machine."""
    return run_objects.run_object(run, Home(settings.HOME))


def bundle_folder(bundle: Bundle) -> Path:
    return Home(settings.HOME).bundle(bundle.digest)


def where_to_look(run: Run) -> None:
    """After a run: its state, its bundle, and the commands that show more."""
    bundle = queries.bundle_of(run)
    lines = [f"run     {run.id}", f"state   {run.state}"]
    if run.state_reason:
        lines.append(f"reason  {run.state_reason}")
    if bundle is not None:
        lines.append(f"bundle  {bundle_folder(bundle)}")
    lines += [f"show    assay show {run.id}", f"page    assay up, then /runs/{run.id}"]
    sys.stdout.write("\n".join(lines) + "\n")
