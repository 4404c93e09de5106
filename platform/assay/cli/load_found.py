"""What ``assay load`` found, as one JSON object and in words."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.execution.quick_looks import Looked
from runners.protocol import layout


def print_found(found: Mapping[str, Any]) -> None:
    """The object of ``assay load`` for people: figures if there are any, what limits them, where they lie."""
    from rich.console import Console

    from assay.cli.headlines import print_headlines

    console = Console()
    if found["definition_version"] is not None:
        print_headlines(found, console)
    lines = [f"client limited: {line}" for line in found["client_limits"]]
    lines += [f"state   {found['state']}" + (f": {found['reason']}" if found["reason"] else "")]
    lines += [f"bundle  {found['bundle']}"]
    lines += [f"show    assay show {found.get('registered_run') or found['bundle_digest']}"]
    for line in lines:
        console.print(line, soft_wrap=True, markup=False, highlight=False)


def result(looked: Looked, document: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object of ``assay load``: short keys in ms, rules, and where the bundle lies."""
    from assay.cli.headlines import headlines

    reading, client_error = looked.reading or {}, own_error(looked.bundle)
    return {
        **headlines(looked.reading),
        "unit": "ms",
        "level": "E1",
        "run": looked.run_id,
        "state": looked.state,
        "reason": looked.reason or None,
        "bundle": str(looked.bundle) if looked.bundle else None,
        "bundle_digest": looked.digest,
        "definition_version": reading.get("definition_version"),
        "load": document["load"],
        "reconciliation": reading.get("reconciliation"),
        "windows": reading.get("windows"),
        "client_limited": client_error.get("client_limited"),
        "client_limits": client_error.get("client_limits") or [],
        "client_error": client_error,
        "gaps": reading.get("gaps"),
    }


def own_error(bundle: Path | None) -> dict[str, Any]:
    """The client's own error as the bundle states it."""
    path = bundle / layout.CLOCKS if bundle is not None else None
    document = json.loads(path.read_bytes()) if path is not None and path.is_file() else {}
    return dict(document.get("client_error", {}))


def client_limits(bundle: Path | None) -> list[str]:
    """Why the client limited the run, one sentence each."""
    return list(own_error(bundle).get("client_limits") or [])
