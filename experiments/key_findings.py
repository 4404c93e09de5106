"""Findings about keys: one that does not exist (the nearest is named), one that has to be declared."""

import difflib
from collections.abc import Iterable

from experiments.errors import Finding
from experiments.schema import fields


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like ``word``, or None if nothing is near."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return close[0] if close else None


def unknown_key(key: str, *, seen: str | None = None, engine: str | None = None) -> Finding:
    """The finding for a key that does not exist, naming the nearest that does.

    The neighbours under the same parent come first, then any path that ends alike, then any path. ``engine``
    is the key of the chosen engine, where one is chosen: settings of others are then not named.
    """
    parent = key.rpartition(".")[0]
    owner = fields.find(parent) if parent else None
    if owner is not None and owner.node is None and parent != "engine":
        return Finding(
            field=key,
            seen=seen if seen is not None else key,
            allowed=f"{parent} as a whole: {owner.allowed}",
            remedy=f"{parent} has no fields of its own that can be set one by one.",
        )
    beside = fields.siblings(key, engine)
    anywhere = [p for p in fields.all_paths(engine) if "*" not in p]
    by_end = {p.rpartition(".")[2]: p for p in reversed(anywhere)}
    last = nearest(key.rpartition(".")[2], by_end)
    # Beside it only the last name differs: a long common path must not make strangers neighbours.
    ends = {p.rpartition(".")[2]: p for p in beside}
    alike = nearest(key.rpartition(".")[2], ends)
    near = (
        (ends[alike] if alike else None)
        or (by_end[last] if last and not beside else None)
        or (nearest(key, anywhere) if not beside else None)
    )
    return Finding(
        field=key,
        seen=f"{seen if seen is not None else key} (unknown key)",
        allowed=near or ", ".join(beside) or "a key of the schema",
        remedy=f"Did you mean {near}?" if near else "See experiments/schema for the keys.",
    )


def missing_field(path: str) -> Finding:
    """The finding for a field that has to be declared and is not."""
    path = path.replace("[", ".").replace("]", "")
    member = fields.find(path)
    remedy = "Declare it in the group file or as an override."
    if path == "artifact.config.h_kv":
        remedy = "A memory or capacity claim without the number of KV heads cannot be reviewed."
    return Finding(
        field=path,
        seen="missing",
        allowed=member.allowed if member else "a declared value",
        remedy=remedy,
    )
