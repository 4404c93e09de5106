"""Which parts of an engine's version carry which of the seven responsibilities.

A diagnosis names the responsibility; the class that carries it has another name in every engine and version.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from experiments.changes.node import Node
from experiments.changes.vocabulary import Reading, Responsibility
from experiments.changes.yaml_file import root_of

FOLDER = Path(__file__).with_name("components")


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """``where`` is the module that holds it."""

    responsibility: Responsibility
    name: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentMap:
    """Holds for the version that it was read for, and for no other."""

    engine: str
    version: str
    consulted: str
    reading: Reading
    by_responsibility: Mapping[Responsibility, tuple[Component, ...]]


@cache
def component_map(engine: str) -> ComponentMap | None:
    """None for an engine whose parts were not read. Raises Refusal for a file that is not right."""
    path = FOLDER / f"{engine}.yaml"
    return load(path) if path.is_file() else None


def load(path: Path) -> ComponentMap:
    root = root_of(path)
    found = [_component(node) for node in root.nodes("components")]
    made = ComponentMap(
        engine=root.text("engine"),
        version=root.text("version"),
        consulted=root.day("consulted").isoformat(),
        reading=root.choice("reading", Reading),
        by_responsibility={
            each: tuple(c for c in found if c.responsibility is each) for each in Responsibility
        },
    )
    root.done()
    if bare := [each.value for each, parts in made.by_responsibility.items() if not parts]:
        raise root.refusal("components", f"a part for each responsibility; {bare[0]} has none")
    return made


def _component(node: Node) -> Component:
    found = Component(
        responsibility=node.choice("responsibility", Responsibility),
        name=node.text("name"),
        where=node.text("where"),
    )
    node.done()
    return found
