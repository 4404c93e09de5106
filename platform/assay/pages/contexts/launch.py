"""The launch page: what can be chosen, what was chosen, and what it comes to before anything runs."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml
from django.conf import settings

from assay.accounts.models import Project
from assay.archive.paths import Home
from assay.execution import composing
from assay.execution.composing import Wanted
from assay.pages.contexts.launch_asked import FREE, STUDY, SWEEP, Asked, command
from assay.pages.contexts.launch_fields import COMMON, Field, all_fields, in_effect
from assay.pages.contexts.launch_memory import Memory, memory_of
from assay.pages.contexts.launch_outlook import Outlook, outlook_of
from experiments.compose import CONF, GROUPS, choices
from experiments.errors import Finding, Refusal
from experiments.group_titles import GroupFile, titled
from experiments.plan import RunSpec
from experiments.schema import fields as schema
from experiments.schema.root import RootConfig

CHOSEN_GROUPS = tuple(group for group in GROUPS if group != STUDY)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRow:
    """One cell of the sweep: what it moves, its digest, how often it runs."""

    variables: Mapping[str, Any]
    digest: str
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """What a declaration comes to. ``fingerprint`` stands for every run of it in its order."""

    specs: tuple[RunSpec, ...]
    cells: tuple[CellRow, ...]
    document: Mapping[str, Any]
    choices: Mapping[str, str]
    yaml: str
    memory: Memory
    outlook: Outlook
    fingerprint: str

    @property
    def runs(self) -> int:
        return len(self.specs)

    @property
    def engine(self) -> str:
        return str(self.document["engine"]["key"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """``resolved`` is None beside findings, and where nothing was asked yet."""

    asked: Asked
    command: str
    resolved: Resolved | None
    findings: tuple[Finding, ...]
    beside: Mapping[str, list[Finding]]
    effects: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One input of the form, with what is in effect and what is wrong with it."""

    field: Field
    value: str
    effect: Any
    known: bool
    findings: Sequence[Finding]

    @property
    def slug(self) -> str:
        return self.field.path.replace(".", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Inputs under one heading, folded while nothing is set in them."""

    label: Any
    rows: Sequence[Row]
    open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """One config group: what can be chosen, what was, and which file is in effect."""

    name: str
    files: Sequence[GroupFile]
    chosen: str
    effect: str
    findings: Sequence[Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """What the form offers; ``finding`` when the installation's own group files are refused."""

    groups: Mapping[str, Sequence[GroupFile]]
    projects: Sequence[Project]
    finding: tuple[Finding, ...] = ()


def offered(projects: Sequence[Project]) -> Offered:
    own = composing.studies_folder()
    try:
        names = choices(studies=own)
    except Refusal as refusal:
        shipped = titled(choices(), shipped=CONF, own=None)
        return Offered(groups=shipped, projects=projects, finding=refusal.findings)
    return Offered(groups=titled(names, shipped=CONF, own=own), projects=projects)


def preview(asked: Asked) -> Preview:
    """Compose, plan and reckon. Whatever is refused comes back as findings, each beside its field."""
    wanted, wrong = asked.wanted()
    if asked.is_empty:
        return _preview(asked, wanted, None, ())
    if wrong:
        return _preview(asked, wanted, None, wrong)
    try:
        specs = composing.planned(wanted)
    except Refusal as refusal:
        return _preview(asked, wanted, None, refusal.findings)
    return _preview(asked, wanted, resolve(specs), ())


def rows(fields: Sequence[Field], shown: Preview) -> list[Row]:
    return [
        Row(
            field=field,
            value=shown.asked.values.get(field.path, ""),
            effect=shown.effects.get(field.path),
            known=shown.resolved is not None,
            findings=shown.beside.get(field.path, []),
        )
        for field in fields
    ]


def blocks(shown: Preview) -> list[Block]:
    found = []
    for label, folded, fields in COMMON:
        block = rows(fields, shown)
        found.append(Block(label=label, rows=block, open=not folded or is_used(block)))
    return found


def is_used(block: Sequence[Row]) -> bool:
    return any(row.value or row.findings for row in block)


def group_rows(offer: Offered, shown: Preview) -> list[GroupRow]:
    return [
        GroupRow(
            name=group,
            files=offer.groups[group],
            chosen=shown.asked.groups.get(group, ""),
            effect=shown.resolved.choices.get(group, "") if shown.resolved else "",
            findings=shown.beside.get(group, []),
        )
        for group in CHOSEN_GROUPS
    ]


def resolve(specs: Sequence[RunSpec]) -> Resolved:
    first = min(specs, key=lambda spec: (spec.cell, spec.repetition))
    document = first.document
    ordered = _in_schema_order(document)
    return Resolved(
        specs=tuple(specs),
        cells=_cells(specs),
        document=document,
        choices=first.choices,
        yaml=yaml.safe_dump(ordered, sort_keys=False, allow_unicode=True, width=110),
        memory=memory_of(document, workers_here=settings.REDIS_URL is None),
        outlook=outlook_of(document, Home(settings.HOME)),
        fingerprint=fingerprint(specs),
    )


def fingerprint(specs: Sequence[RunSpec]) -> str:
    """A digest over all runs in their order: what was shown is what will be queued."""
    lines = [f"{s.position} {s.repetition} {s.text.hex()}" for s in specs]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _cells(specs: Sequence[RunSpec]) -> tuple[CellRow, ...]:
    runs = Counter(spec.cell for spec in specs)
    first = {spec.cell: spec for spec in reversed(specs)}
    return tuple(
        CellRow(variables=first[cell].variables, digest=first[cell].digest, runs=runs[cell])
        for cell in sorted(first)
    )


def _preview(
    asked: Asked, wanted: Wanted, resolved: Resolved | None, findings: Sequence[Finding]
) -> Preview:
    shown = all_fields(resolved.engine if resolved else asked.engine)
    inputs = [field.path for field in shown]
    beside: dict[str, list[Finding]] = {}
    for finding in findings:
        place = _place(finding.field, inputs, asked)
        if place is not None:
            beside.setdefault(place, []).append(finding)
    effects = {path: in_effect(resolved.document, path) for path in inputs} if resolved else {}
    return Preview(
        asked=asked,
        command=command(wanted),
        resolved=resolved,
        findings=tuple(findings),
        beside=beside,
        effects=effects,
    )


def _place(path: str, inputs: Sequence[str], asked: Asked) -> str | None:
    """The input that a finding stands beside: its own, the box that wrote it, or its group's."""
    if path in inputs or path in (FREE, SWEEP):
        return path
    if path == "sweep":
        return SWEEP
    for box, text in ((SWEEP, asked.sweep), (FREE, asked.free)):
        if any(word.lstrip("+~").partition("=")[0] == path for word in text.split()):
            return box
    group = path.partition(".")[0]
    return group if group in GROUPS and "." not in path else None


def _in_schema_order(document: Mapping[str, Any], node: type = RootConfig) -> dict[str, Any]:
    """The document with its keys as the schema has them: a reader looks for the artifact first."""
    found: dict[str, Any] = {}
    for member in schema.members(node):
        if member.name not in document:
            continue
        value = document[member.name]
        below = schema.node_of(member, value, node)
        if below is not None and isinstance(value, Mapping):
            value = _in_schema_order(value, below)
        elif below is not None and isinstance(value, list):
            value = [_in_schema_order(item, below) for item in value]
        found[member.name] = value
    return found
