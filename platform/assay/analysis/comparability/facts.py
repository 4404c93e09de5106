"""What a run shows of itself, flattened: one fact a field, each known or not known for a reason.

Field by field, so that a difference is named where it lies. Readings (counts of profiled calls, clock rates)
are no identity and are left out; so are echoes that hold the ports and paths of one start.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from assay.analysis.comparability.record import Observed
from runners.protocol.documents import IDENTITY_ITEMS

ARTIFACT = "artifact.verified"
ENGINE_PACKAGES = "environment.engine"
_NO_IDENTITY = "the bundle holds no identity document"
# Echoed whole, with port, paths and execution id of the start; its flags stand in the declaration.
_OF_ONE_START = frozenset({"launch_configuration.non_default_arguments"})
_READINGS = frozenset({"model_runner.steps_traced", "model_runner.largest_batch_traced"})
# Name -> calls that a trace counted: which operators ran is identity, how often is a matter of the steps.
_COUNTED = ("_operators", "_inputs", "stages_traced")
# Here null says that there is none, not that it is not known.
_NULL_IS_NONE = frozenset(
    {"cgroup_version", "cgroup_cpu_quota_cores", "cgroup_memory_limit_bytes", "nvidia_driver"}
)
_OF_CLIENT = ("assay", "uvloop", "httptools")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """``unknown`` says why there is no value; it is empty for a value that is known, null included."""

    value: Any
    unknown: str = ""


def facts(observed: Observed) -> dict[str, Fact]:
    """Every fact by its path: ``artifact.verified``, ``ran.ITEM.FIELD``, ``host.FACT``, ``client.PART``."""
    return dict(
        [
            _artifact(observed.identity),
            *_items(observed.identity),
            *_host(observed.host),
            _engine_packages(observed.packages),
            *_client(observed),
        ]
    )


def item_of(path: str) -> str:
    """The identity item of a ``ran`` path, else an empty string."""
    parts = path.split(".")
    return parts[1] if parts[0] == "ran" else ""


def _artifact(identity: Mapping[str, Any] | None) -> tuple[str, Fact]:
    found = (identity or {}).get("artifact")
    if found is None:
        return ARTIFACT, Fact(value=None, unknown="its bytes were never verified")
    return ARTIFACT, Fact(value=found["digest"])


def _items(identity: Mapping[str, Any] | None) -> Iterator[tuple[str, Fact]]:
    stated = {item["item"]: item for item in (identity or {}).get("run", ())}
    for name in IDENTITY_ITEMS:
        item = stated.get(name)
        if item is None or item["ran"] is None:
            why = (item["reason"] if item else "") or _NO_IDENTITY
            yield f"ran.{name}", Fact(value=None, unknown=why)
            continue
        for path, value in flat(item["ran"], name):
            if path not in _OF_ONE_START | _READINGS:
                yield f"ran.{path}", Fact(value=value)


def flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Nested mappings as dotted paths; a mapping of counted calls is the list of its names."""
    if not isinstance(value, Mapping) or not value:
        yield path, value
    elif path.endswith(_COUNTED):
        yield path, sorted(map(str, value))
    else:
        for name, inner in value.items():
            yield from flat(inner, f"{path}.{name}")


def _host(host: Mapping[str, Any] | None) -> Iterator[tuple[str, Fact]]:
    if host is None:
        yield "host", Fact(value=None, unknown="the bundle does not describe its host")
        return
    yield "host.fingerprint", Fact(value=host.get("fingerprint"))
    for name, fact in (host.get("facts") or {}).items():
        if fact.get("role") != "key":
            continue
        is_none = fact["value"] is None and name not in _NULL_IS_NONE
        unknown = (fact.get("reason") or "not stated") if is_none else ""
        yield f"host.{name}", Fact(value=fact["value"], unknown=unknown)


def packages_of(packages: Mapping[str, Any] | None, role: str) -> Mapping[str, Any] | None:
    found = (packages or {}).get("environments") or ()
    return next((e for e in found if e.get("role") == role), None)


def _engine_packages(packages: Mapping[str, Any] | None) -> tuple[str, Fact]:
    found = packages_of(packages, "engine")
    if found is None or not found.get("sha256"):
        why = (found or {}).get(
            "reason"
        ) or "the packages of the engine's environment are not recorded"
        return ENGINE_PACKAGES, Fact(value=None, unknown=why)
    return ENGINE_PACKAGES, Fact(value=found["packages"])


def _client(observed: Observed) -> Iterator[tuple[str, Fact]]:
    yield (
        "client.source",
        Fact(value=observed.client_source)
        if observed.client_source
        else Fact(value=None, unknown="recorded only where evidence.calibrate_client is on"),
    )
    found = packages_of(observed.packages, "client")
    for name in (*_OF_CLIENT, "python"):
        value = (found or {}).get("python") if name == "python" else None
        if found is not None and name != "python":
            value = found["packages"].get(name)
        yield (
            f"client.{name}",
            Fact(value=value) if value else Fact(value=None, unknown="not recorded"),
        )
