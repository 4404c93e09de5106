"""Pure functions that carry an older declaration to the present schema version, one step at a time.

A new field is added by its step at the value that older runs had, so that comparing an old run with a new
one field by field starts no new series. ``STEPS[n]`` turns version n into n + 1; version 1 is the first.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from experiments.errors import refuse
from experiments.schema.root import SCHEMA_VERSION

Step = Callable[[Mapping[str, Any]], Mapping[str, Any]]

STEPS: Mapping[int, Step] = MappingProxyType({})


def migrate(
    document: Mapping[str, Any],
    *,
    steps: Mapping[int, Step] = STEPS,
    target: int = SCHEMA_VERSION,
) -> Mapping[str, Any]:
    """The same declaration at schema version ``target``. Raises Refusal for a version it cannot read."""
    version = document.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version <= target:
        raise refuse(
            field="schema_version",
            seen=version,
            allowed=f"1 to {target}",
            remedy="Read it with the version of Assay that wrote it, or a later one.",
        )
    while version < target:
        step = steps.get(version)
        if step is None:
            raise refuse(
                field="schema_version",
                seen=version,
                allowed=f"{target}, or a version with a migration step",
                remedy=f"No step from {version} to {version + 1} is known.",
            )
        version += 1
        document = {**step(document), "schema_version": version}
    return document
