"""Deterministic modes of engines: status, condition, how one is enabled, what it costs; each by version."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from experiments.changes.node import Node
from experiments.changes.vocabulary import Reading
from experiments.changes.yaml_file import root_of

FOLDER = Path(__file__).with_name("determinism")
NOT_EVIDENCED = "not evidenced"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeterministicMode:
    """Every field is text, ``not evidenced`` where nothing was read or measured."""

    engine: str
    version: str
    reading: Reading
    name: str
    status: str
    hardware: str
    enabled_by: str
    disables: str
    cost: str
    validated_models: str
    serving: str  # offline, online


@cache
def deterministic_modes(engine: str) -> tuple[DeterministicMode, ...]:
    """Empty for an engine without a file. Raises Refusal for a file that is not right."""
    path = FOLDER / f"{engine}.yaml"
    return tuple(load(path)) if path.is_file() else ()


def load(path: Path) -> list[DeterministicMode]:
    root = root_of(path)
    engine, version = root.text("engine"), root.text("version")
    root.day("consulted")
    reading = root.choice("reading", Reading)
    found = [_mode(node, engine, version, reading) for node in root.nodes("modes")]
    root.done()
    return found


def _mode(node: Node, engine: str, version: str, reading: Reading) -> DeterministicMode:
    def stated(name: str) -> str:
        if name not in node:
            raise node.refusal(name, f"text, or null for {NOT_EVIDENCED}")
        return node.maybe(name) or NOT_EVIDENCED

    found = DeterministicMode(
        engine=engine,
        version=version,
        reading=reading,
        name=node.text("name"),
        status=stated("status"),
        hardware=stated("hardware"),
        enabled_by=node.text("enabled_by"),
        disables=stated("disables"),
        cost=stated("cost"),
        validated_models=stated("validated_models"),
        serving=stated("serving"),
    )
    node.done()
    return found
