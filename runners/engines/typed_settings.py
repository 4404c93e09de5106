"""The declared settings of an engine as its own dataclass: exactly these fields, none of another engine's.

The platform's checks have looked at their values before.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from runners.protocol.errors import Finding, Refused

T = TypeVar("T")


def typed(
    schema: type[T], declared: Mapping[str, Any], *, engine: str, sizes: tuple[str, ...] = ()
) -> T:
    """``sizes`` names lists of whole numbers. Raises Refused, naming what is strange or absent."""
    names = {f.name for f in fields(schema)}  # type: ignore[arg-type]
    if set(declared) != names:
        raise Refused(
            Finding(
                field="engine.settings",
                seen=", ".join(sorted(set(declared) ^ names)) + " are not of both",
                allowed=", ".join(sorted(names)),
                remedy=f"Declare the settings of {engine}.",
            )
        )
    numbers = {name: tuple(int(size) for size in declared[name]) for name in sizes}
    return schema(**{**declared, **numbers})
