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
    """Fields of the eight identity items, ``ran.ITEM.FIELD``, of items that both state."""
    return differences(_stated(home, before), _stated(home, after))


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[dict[str, object]]:
    """By item. What one of them does not show at all is not known, and no difference.

    In an item that both state, a field that only one has is one: an engine names what was modified.
    """
    both = [item for item in before if before[item] and after.get(item)]
    old, new = (dict(_flat("", {item: s[item] for item in both})) for s in (before, after))
    return [
        {"field": f"{RAN}.{name}", "before": old.get(name), "after": new.get(name), "verdict": RAN}
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    ]


def _stated(home: Home, run: Run) -> dict[str, Any]:
    """Items and what they say; empty where the bundle or its identity is not there."""
    bundle = bundle_of(run)
    if bundle is None:
        return {}
    try:
        document = json.loads((bundle_folder(home, bundle.digest) / layout.IDENTITY).read_bytes())
        return {str(i["item"]): i["ran"] for i in document.get("run", [])}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if not _is_reading(str(name)):
                yield from _flat(f"{prefix}.{name}" if prefix else str(name), inner)
    elif value is not None and not prefix.startswith(_SETTINGS):
        yield prefix, value


def _is_reading(name: str) -> bool:
    return any(name == r or (r.startswith("_") and name.endswith(r)) for r in _READINGS)
