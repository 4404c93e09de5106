"""Does the engine have the workload's endpoint, and does its API know every setting that is declared?"""

from collections.abc import Iterator, Mapping
from typing import Any

from experiments.errors import Finding

# Generation endpoints whose API has no such setting.
_UNKNOWN_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "responses": ("ignore_eos", "top_k", "stop"),
    "messages": ("ignore_eos",),
}
_NEUTRAL: Mapping[str, Any] = {"ignore_eos": False, "top_k": 0, "stop": []}
_MISSING_IN_ENGINE: Mapping[str, tuple[str, ...]] = {"torch": ("responses", "messages")}


def unknown_settings(endpoint: str) -> tuple[str, ...]:
    """Settings of ``workload`` that the endpoint's API does not know."""
    return _UNKNOWN_SETTINGS.get(endpoint, ())


def check(document: Mapping[str, Any]) -> Iterator[Finding]:
    """Everything that keeps the endpoint from being asked as declared."""
    workload, engine = document["workload"], document["engine"]["key"]
    endpoint = str(workload["endpoint"])
    missing = _MISSING_IN_ENGINE.get(engine, ())
    if endpoint in missing:
        yield Finding(
            field="workload.endpoint",
            seen=endpoint,
            allowed=f"an endpoint of engine {engine}, which has no {' and no '.join(missing)}",
            remedy="Ask it by chat or completions, or choose an engine that speaks that API.",
        )
    for name in unknown_settings(endpoint):
        if workload[name] != _NEUTRAL[name]:
            yield Finding(
                field=f"workload.{name}",
                seen=str(workload[name]),
                allowed=f"{_NEUTRAL[name]}, with endpoint {endpoint}: its API has no such setting",
                remedy="Leave it out, or use the chat endpoint.",
            )
