"""Read version records from YAML. What a record may not say is refused while it is read."""

from collections.abc import Mapping
from pathlib import Path

from packaging.version import InvalidVersion, Version

from experiments.changes import rules
from experiments.changes.node import Node
from experiments.changes.record import Change, Days, Source, VersionRecord
from experiments.changes.vocabulary import ChangeKind, Label, Reading, Scope, Status, Subject
from experiments.changes.yaml_file import root_of
from experiments.errors import refuse

RECORDS = Path(__file__).with_name("records")


def load(path: Path) -> list[VersionRecord]:
    """The records of one engine, oldest first. Raises Refusal at the first field that is not right."""
    root = root_of(path)
    engine, product = root.text("engine"), root.text("product")
    sources = {source.id: source for source in map(_source, root.nodes("sources"))}
    found = [_record(node, engine, product, sources) for node in root.nodes("records")]
    root.done()
    _no_twins(path, found)
    return sorted(found, key=lambda record: record.order)


def _source(node: Node) -> Source:
    source = Source(
        id=node.text("id"),
        title=node.text("title"),
        url=node.text("url"),
        floating=node.truth("floating"),
        pinned_by=node.maybe("pinned_by"),
    )
    rules.check_source(node, source)
    node.done()
    return source


def _record(node: Node, engine: str, product: str, sources: Mapping[str, Source]) -> VersionRecord:
    if "runtime_verified" in node:
        raise node.refusal(
            "runtime_verified",
            "no such field: only a run confirms a record",
            "Link a run to it instead: assay versions confirm.",
        )
    source = node.text("source")
    if source not in sources:
        raise node.refusal("source", ", ".join(sources) or "an id of the file's own sources")
    reading = node.choice("reading", Reading)
    record = VersionRecord(
        engine=engine,
        product=product,
        version=_version(node),
        status=node.choice("status", Status),
        released=_days(node),
        released_basis=node.text("released_basis"),
        consulted=node.day("consulted"),
        body_verified=node.truth("body_verified"),
        verified_part=node.text("verified_part"),
        source=sources[source],
        label=node.choice("label", Label),
        reading=reading,
        scope=node.choice("scope", Scope),
        content=node.text("content"),
        changes=tuple(_change(each, reading) for each in node.nodes("changes")),
        components=node.pairs("components"),
        known_issues=node.texts("known_issues"),
    )
    rules.check_record(node, record)
    node.done()
    return record


def _version(node: Node) -> str:
    """An exact version of the product. ``V2`` is how a component is called."""
    text = node.text("version")
    try:
        Version(text)
    except InvalidVersion:
        text = ""
    if not text[:1].isdigit():
        raise node.refusal(
            "version",
            "the product's own version, such as 0.32.0 or 1.3.0rc24",
            "A version of a part goes under components.",
        )
    return text


def _days(node: Node) -> Days | None:
    """Null where no date is known; ``released_basis`` then says why."""
    range_node = node.node("released")
    if range_node is None:
        return None
    found = Days(first=range_node.day("first"), last=range_node.day("last"))
    if found.first > found.last:
        raise range_node.refusal("last", f"a day from {found.first} on")
    range_node.done()
    return found


def _change(node: Node, reading: Reading) -> Change:
    names = node.texts("names")
    if not names:
        raise node.refusal("names", "one name or more, as a user writes them")
    change = Change(
        subject=node.choice("subject", Subject),
        names=names,
        kind=node.choice("kind", ChangeKind),
        reading=node.choice("reading", Reading, reading),
        use=node.maybe("use"),
        announced_removal=node.maybe("announced_removal"),
        note=node.maybe("note"),
    )
    rules.check_change(node, change)
    node.done()
    return change


def _no_twins(path: Path, found: list[VersionRecord]) -> None:
    versions = [record.order for record in found]
    for record in found:
        if versions.count(record.order) > 1:
            raise refuse(
                field=f"{path.name}.records",
                seen=f"version {record.version} twice",
                allowed="one record a version",
                remedy="Put both into one; a change may carry a reading of its own.",
            )
