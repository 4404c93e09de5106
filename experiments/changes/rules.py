"""What a version record may not say, and what may be made of one.

A pre-release is not written as a release; a page that moves is marked; what only an index names carries no
behaviour of a version; no migration step comes from a pre-release or from a list that nobody verified.
"""

import re

from experiments.changes.node import Node
from experiments.changes.record import Change, Source, VersionRecord
from experiments.changes.vocabulary import ChangeKind, Label, Reading, Scope, Status, Subject
from experiments.errors import refuse

_MOVING = re.compile(r"/(latest|stable|main|master|head|nightly|dev)(/|$)", re.IGNORECASE)
_COMMIT = re.compile(r"[0-9a-f]{7,40}")


def check_source(node: Node, source: Source) -> None:
    """Raises Refusal for a moving page without its mark, and for a fixed one that nothing fixes."""
    moves = _MOVING.search(source.url) is not None and not _COMMIT.search(source.url)
    if moves and not source.floating and source.pinned_by is None:
        raise node.refusal(
            "floating",
            "true for a page that moves with releases",
            "Mark it, or name the commit or archived copy in pinned_by.",
        )
    if source.floating and source.pinned_by is not None:
        raise node.refusal("floating", "false once a commit or copy pins the page")
    if not source.floating and source.pinned_by is None:
        raise node.refusal("pinned_by", "what fixes the text: a commit, a copy, a versioned file")


def check_record(node: Node, record: VersionRecord) -> None:
    """Raises Refusal for a record whose parts contradict each other."""
    version = record.order
    if version.is_prerelease and record.status in (Status.ga, Status.maintenance):
        raise node.refusal("status", "RC or preview for a pre-release", "It is not released.")
    if record.status is Status.rc and not version.is_prerelease:
        raise node.refusal("version", "a release candidate's own version, such as 1.3.0rc1")
    if record.status is Status.roadmap and record.released is not None:
        raise node.refusal("released", "nothing: what is planned has no release date")
    if record.body_verified and record.reading in (Reading.listing, Reading.third_party):
        raise node.refusal("body_verified", "false where only a list or a report was read")
    if record.label is Label.entry_only:
        _check_entry_only(node, record)
    if any(name.lower() == record.product.lower() for name in record.components):
        raise node.refusal("components", "parts only; the product's version is the record's own")


def _check_entry_only(node: Node, record: VersionRecord) -> None:
    if record.body_verified:
        raise node.refusal(
            "body_verified", f"false for {Label.entry_only}: its body was not obtained"
        )
    if record.scope is Scope.implementation:
        allowed = f"{Scope.mechanism}, {Scope.frontier} for {Label.entry_only}"
        raise node.refusal("scope", allowed, "Read the body, or say less.")


def check_change(node: Node, change: Change) -> None:
    if change.kind is ChangeKind.renamed and change.use is None:
        raise node.refusal("use", "the new name")
    is_flag = change.subject is Subject.flag
    if is_flag and not all(name.startswith("-") for name in change.names):
        raise node.refusal("names", "flags as they are typed, with their dashes")
    if change.announced_removal is not None and change.kind is ChangeKind.removed:
        raise node.refusal("announced_removal", "nothing where the removal has happened")


def migration_step(record: VersionRecord, change: Change) -> str:
    """What to do on the way to this version. Raises Refusal where the reading does not carry a step."""
    if record.is_prerelease:
        raise _no_step(record, f"{record.version} is {record.status}", "a released version")
    if not record.is_evidence(change):
        page = " on a floating page" if record.source.floating else ""
        raise _no_step(
            record, f"read as {change.reading}{page}", "a body or parser reading, pinned"
        )
    names = ", ".join(change.names)
    if change.use is not None:
        return f"Use {change.use} instead of {names}."
    if change.kind in (ChangeKind.removed, ChangeKind.no_effect):
        return f"Leave out {names}."
    return f"Look at {names}: {change.kind}."


def _no_step(record: VersionRecord, seen: str, allowed: str) -> Exception:
    return refuse(
        field=f"{record.id}.changes",
        seen=seen,
        allowed=allowed,
        remedy="It is told as read; verify it before anybody is told to change a command.",
    )


def worded(record: VersionRecord, statement: str, *, shown_by: str | None) -> str:
    """A statement of a record as it may be printed: the version's own words until a run showed it."""
    if shown_by is not None:
        return f"{statement} (shown by run {shown_by})"
    if record.status is Status.roadmap:
        return f"planned for {record.version}: {statement}"
    return f"this version states: {statement}"
