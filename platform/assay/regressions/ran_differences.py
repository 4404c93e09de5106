"""In what two runs differ as they ran: the identity that the engines stated, beside what was declared.

Only what identifies is compared. What is read off a machine while it runs (times, addresses, affinity) moves
from start to start and points at nothing.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from assay.archive.paths import Home
from assay.archive.remote.fetching import bundle_folder
from assay.ledger.models import Run
from assay.ledger.queries import bundle_of
from runners.protocol import layout

RAN = "ran"
_READINGS = (
    "affinity",
    "load_times",
    "addresses",
    "address",
    "pid",
    "port",
    "seconds",
    "_s",
    "_ns",
)
_SETTINGS = "launch_configuration.settings."  # the declaration has them, field by field


def ran_differences(home: Home, before: Run, after: Run) -> list[dict[str, object]]:
    """Fields of the eight identity items, ``ran.ITEM.FIELD``, that both state and state differently."""
    old, new = (dict(_stated(home, run)) for run in (before, after))
    return [
        {"field": f"{RAN}.{name}", "before": old.get(name), "after": new.get(name), "verdict": RAN}
        for name in sorted({*old, *new})
        if old and new and old.get(name) != new.get(name)
    ]


def _stated(home: Home, run: Run) -> Iterator[tuple[str, Any]]:
    bundle = bundle_of(run)
    if bundle is None:
        return
    try:
        document = json.loads((bundle_folder(home, bundle.digest) / layout.IDENTITY).read_bytes())
        items = {str(i["item"]): i["ran"] for i in document.get("run", [])}
    except (OSError, ValueError, KeyError, TypeError):
        return
    yield from _flat("", items)


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if not _is_reading(str(name)):
                yield from _flat(f"{prefix}.{name}" if prefix else str(name), inner)
    elif value is not None and not prefix.startswith(_SETTINGS):
        yield prefix, value


def _is_reading(name: str) -> bool:
    return any(name == r or (r.startswith("_") and name.endswith(r)) for r in _READINGS)
