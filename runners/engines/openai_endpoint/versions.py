"""Which version an endpoint states, read from what it answered on its control paths."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    version: str
    where: str


def stated(server_info: Mapping[str, Any]) -> Stated | None:
    """The version by ``/version``, from the document that the start wrote; None if it stated none.

    The Server header names whatever answered first, often a proxy: it is recorded, and no version of the
    engine is read from it.
    """
    found = server_info.get("version")
    version = found.get("version") if isinstance(found, Mapping) else None
    if not isinstance(version, str) or not version:
        return None
    return Stated(version=version, where="GET /version")
