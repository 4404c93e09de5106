"""Can somebody who was not there interpret this record? What it must hold, and what of it is missing.

Nine items, each from the declaration or from what was measured; one that is missing makes the record not
interpretable, whatever else it holds. Source: source text, section 10.8.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.schema.parallel import KNOWN_LIMITS


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the run itself showed; None is not known. Counts are of completed attempts."""

    input_lengths: int = 0
    output_lengths: int = 0
    cached_tokens_known: bool = False
    timing_rules: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """``value`` is what the record holds, in words; None with what is ``lacking`` of it."""

    name: str
    value: str | None
    lacking: str = ""


def record_items(spec: Mapping[str, Any], measured: Measured) -> list[Item]:
    """The nine items in a fixed order. ``spec`` is the declaration at the present schema version."""
    engine, device = spec["engine"], spec["device"]
    return [
        _item("model configuration and version", _model(spec["artifact"])),
        _item("weight and KV dtype", _dtypes(spec["artifact"])),
        _item("hardware count and interconnect", _hardware(device)),
        _item("framework version", engine["version"] and f"{engine['key']} {engine['version']}"),
        _item("parallel strategy", parallel_strategy(engine["parallel"])),
        _lengths(measured),
        _item("concurrency or arrival rate", _load(spec["load"])),
        _item(
            "cache-hit condition",
            "cached prompt tokens as the server counted them"
            if measured.cached_tokens_known
            else None,
            "cached prompt tokens of the completed attempts",
        ),
        _item(
            "timing boundaries of TTFT and TPOT",
            ", ".join(measured.timing_rules) or None,
            "a TTFT and a TPOT with its rule",
        ),
    ]


def missing(items: Sequence[Item]) -> list[str]:
    """Names of the items without which the record is not interpretable; empty if it is."""
    return [item.name for item in items if item.value is None]


def parallel_strategy(parallel: Mapping[str, int]) -> str:
    """The kinds in use with their known limits; "one device" if there is none."""
    used = [kind for kind in KNOWN_LIMITS if parallel[kind] > 1]
    if not used:
        return "none: one device"
    return "; ".join(f"{kind} {parallel[kind]} ({KNOWN_LIMITS[kind]})" for kind in used)


def _item(name: str, value: str | None, lacking: str = "") -> Item:
    return Item(name=name, value=value or None, lacking="" if value else lacking or name)


def _model(artifact: Mapping[str, Any]) -> str | None:
    if not artifact["revision"] or not artifact["config"]:
        return None
    return f"{artifact['name']} at {artifact['revision']}"


def _dtypes(artifact: Mapping[str, Any]) -> str | None:
    precision = artifact["precision"]
    if not precision:
        return None
    return f"weights {precision['weights']['dtype']}, KV {precision['kv']['dtype']}"


def _hardware(device: Mapping[str, Any]) -> str | None:
    if device["count"] > 1 and not device["interconnect"]:
        return None
    ties = device["interconnect"] or "no interconnect: one device"
    return f"{device['count']} x {device['name']}, {ties}"


def _lengths(measured: Measured) -> Item:
    name = "input and output length distributions"
    if not measured.input_lengths or not measured.output_lengths:
        return _item(name, None, "token counts of completed attempts")
    return _item(name, f"{measured.input_lengths} inputs, {measured.output_lengths} outputs")


def _load(load: Mapping[str, Any]) -> str | None:
    if load["concurrency"] is not None:
        return f"{load['kind']}, concurrency {load['concurrency']}"
    if load["rate_per_s"] is not None:
        return f"{load['kind']}, {load['rate_per_s']:g} requests/s"
    return f"{load['kind']}, by its declared profile" if load["kind"] != "closed" else None
