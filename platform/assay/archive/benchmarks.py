"""Stored micro-benchmarks: one file per measurement below ``devices/<host fingerprint>/``, never changed."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from assay.analysis.devices.machine import of_this_host
from assay.archive.paths import Home
from runners.protocol import host


def host_folder(home: Home) -> Path:
    """Where the micro-benchmarks of this very host lie."""
    return home.devices / host.fingerprint(host.describe())


def new_file(home: Home, now: datetime) -> Path:
    """A path for a measurement taken now; its folder exists afterwards. ``now`` is UTC."""
    folder = host_folder(home)
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{now.strftime('%Y%m%dT%H%M%SZ')}.json"


def stored_benchmarks(home: Home) -> list[Mapping[str, Any]]:
    """Every readable micro-benchmark of this host, oldest first; a torn file is passed over."""
    found = []
    for path in sorted(host_folder(home).glob("*.json")):
        try:
            document = json.loads(path.read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(document, Mapping):
            found.append(document)
    return of_this_host(found, fingerprint=host_folder(home).name)
