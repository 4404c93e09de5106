"""What an interface of one version keeps between requests: four items, each answered or not evidenced.

A name says nothing: two engines that both answer ``/v1/responses`` keep different things, and one engine may
keep something else in its next version.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from experiments.changes.node import Node
from experiments.changes.vocabulary import SessionItem
from experiments.changes.yaml_file import root_of
from experiments.errors import refuse

FOLDER = Path(__file__).with_name("interfaces")
NOT_EVIDENCED = "not evidenced"
READINGS = ("body", "run")  # the package of that version read, or a run of that version seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    text: str
    reading: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceRecord:
    """``items`` holds all four; None is not evidenced. It holds for ``version`` alone."""

    engine: str
    version: str
    consulted: str
    name: str
    items: Mapping[SessionItem, Answer | None]

    @property
    def label(self) -> str:
        return f"{self.name} of {self.engine} {self.version}"

    def said(self, item: SessionItem) -> str:
        """The item's answer with the version that it was read for."""
        found = self.items[item]
        return f"{self.label}: {found.text if found else NOT_EVIDENCED}"


@cache
def interfaces(engine: str) -> tuple[InterfaceRecord, ...]:
    """Empty for an engine without a file. Raises Refusal for a file that is not right."""
    path = FOLDER / f"{engine}.yaml"
    return tuple(load(path)) if path.is_file() else ()


def load(path: Path) -> list[InterfaceRecord]:
    root = root_of(path)
    engine, version = root.text("engine"), root.text("version")
    consulted = root.day("consulted").isoformat()
    found = []
    for node in root.nodes("interfaces"):
        found.append(
            InterfaceRecord(
                engine=engine,
                version=version,
                consulted=consulted,
                name=node.text("name"),
                items={item: _answer(node, item) for item in SessionItem},
            )
        )
        node.done()
    root.done()
    return found


def semantics(records: Mapping[str, InterfaceRecord], item: SessionItem, *, of: str) -> Answer:
    """How interface ``of`` behaves, by its own record. Raises Refusal where that item is not evidenced.

    ``records`` may hold interfaces of the same name in other engines or versions: none of them stands in.
    """
    own = records.get(of)
    found = own.items[item] if own else None
    if found is None:
        others = [r.label for key, r in records.items() if key != of and r.items[item]]
        raise refuse(
            field="interface",
            seen=f"{own.label if own else of}, {item}: {NOT_EVIDENCED}"
            + (f"; known of {', '.join(others)}" if others else ""),
            allowed="the record of this very interface and version",
            remedy="Check it on this version; a similar name implies nothing.",
        )
    return found


def _answer(node: Node, item: SessionItem) -> Answer | None:
    if item.value not in node:
        raise node.refusal(item.value, f"an answer, or null for {NOT_EVIDENCED}")
    inner = node.node(item.value)
    if inner is None:
        return None
    text, reading = inner.text("answer"), inner.text("reading")
    if reading not in READINGS:
        raise inner.refusal("reading", ", ".join(READINGS))
    inner.done()
    return Answer(text=text, reading=reading)
