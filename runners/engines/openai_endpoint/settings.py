"""The declared settings of an endpoint, typed."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from runners.protocol.errors import Finding, Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    model: str
    authorization_env: str | None
    return_token_ids: bool


def endpoint_settings(declared: Mapping[str, Any]) -> EndpointSettings:
    """Raises Refused for settings of another engine, naming what is strange or absent."""
    names = {f.name for f in fields(EndpointSettings)}
    if set(declared) != names:
        raise Refused(
            Finding(
                field="engine.settings",
                seen=", ".join(sorted(declared)),
                allowed=", ".join(sorted(names)),
                remedy="Declare the settings of openai_endpoint.",
            )
        )
    return EndpointSettings(**declared)
