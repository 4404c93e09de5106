"""The artifact table and the eight items of the run identity, declared and ran side by side."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from assay.pages import words
from assay.pages.contexts.artifact import ArtifactTable, artifact_table
from assay.pages.contexts.engine_paths import EnginePaths, engine_paths
from assay.pages.contexts.head import RunHead
from runners.protocol.documents import IDENTITY_ITEMS, Evidence, IdentityItem, Pointer


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One named value of an item; ``differs`` when the other column says something else."""

    name: str
    value: Any
    differs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """A piece of evidence; ``url`` shows the very lines, and is empty when it points nowhere."""

    strength: str
    statement: str
    conditions: dict[str, Any]
    where: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRow:
    item: str
    label: str
    declared: list[Field]
    ran: list[Field] | None  # None: unknown, for ``reason``
    strength: str
    chips: list[Chip]
    reason: str

    @property
    def complete(self) -> bool:
        return self.ran is not None and self.strength != "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityPage:
    artifact: ArtifactTable | None
    items: list[ItemRow]
    missing: list[str]
    engine: EnginePaths | None


def identity_page(head: RunHead) -> IdentityPage:
    document = head.folder.identity() if head.folder else None
    if document is None:
        found = head.run.artifact.document if head.run.artifact else None
        return IdentityPage(artifact=artifact_table(found), items=[], missing=[], engine=None)
    by_name = {item["item"]: item for item in document["run"]}
    rows = [_row(by_name.get(name) or _never_stated(name), head) for name in IDENTITY_ITEMS]
    return IdentityPage(
        artifact=artifact_table(document["artifact"]),
        items=rows,
        missing=[row.label for row in rows if not row.complete],
        engine=engine_paths(head, document["run"]),
    )


def _row(item: IdentityItem, head: RunHead) -> ItemRow:
    declared, ran = _flat(item["declared"]), _flat(item["ran"])
    known = item["ran"] is not None
    return ItemRow(
        item=item["item"],
        label=str(words.IDENTITY_LABELS.get(item["item"], item["item"])),
        declared=_fields(declared, ran if known else {}),
        ran=_fields(ran, declared) if known else None,
        strength=item["strength"],
        chips=[_chip(evidence, head) for evidence in item["evidence"]],
        reason=item["reason"] or "",
    )


def _never_stated(name: str) -> IdentityItem:
    return IdentityItem(
        item=name,
        declared=None,
        ran=None,
        strength="none",
        evidence=[],
        reason="the bundle says nothing of this item",
    )


def _fields(own: dict[str, Any], other: dict[str, Any]) -> list[Field]:
    return [
        Field(name=name, value=value, differs=name in other and other[name] != value)
        for name, value in own.items()
    ]


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """Nested objects as dotted names; a bare value has no name."""
    if not isinstance(value, dict):
        return {} if value is None else {prefix: value}
    found: dict[str, Any] = {}
    for name, inner in value.items():
        dotted = f"{prefix}.{name}" if prefix else str(name)
        if isinstance(inner, dict) and inner:
            found |= _flat(inner, dotted)
        else:
            found[dotted] = inner
    return found


def _chip(evidence: Evidence, head: RunHead) -> Chip:
    pointer = evidence["pointer"]
    return Chip(
        strength=evidence["strength"],
        statement=evidence["statement"],
        conditions=evidence["conditions"],
        where=_where(pointer),
        url=quote_url(head, pointer),
    )


def _where(pointer: Pointer | None) -> str:
    if pointer is None:
        return ""
    if "line" in pointer:
        return f"{pointer['file']}:{pointer['line']}"
    return pointer["file"] + (f" · {pointer['query']}" if pointer.get("query") else "")


def quote_url(head: RunHead, pointer: Pointer | None) -> str:
    """The page that shows the lines or rows a pointer names; empty for no pointer."""
    if pointer is None:
        return ""
    asked = {key: str(pointer[key]) for key in ("file", "line", "query") if pointer.get(key)}
    return f"{reverse('run-quote', args=[head.run.pk])}?{urlencode(asked)}"


def ledger_quote_url(head: RunHead, evidence: str | None) -> str:
    """The same for a ledger's ``file:line``."""
    file, _, line = (evidence or "").rpartition(":")
    if not file or not line.isdigit():
        return ""
    return quote_url(head, Pointer(file=file, line=int(line)))
