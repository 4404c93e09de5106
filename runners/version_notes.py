"""What is known of a pinned version's switches, read before a run and kept in its bundle.

The parser dump of the installed version alone decides that a flag is unknown. Version records explain and
warn; where no dump is at hand, they refuse only what was verified on a page that does not move.
"""

import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.changes import catalogue
from experiments.changes.record import Change, VersionRecord
from experiments.changes.rules import worded
from experiments.changes.vocabulary import ChangeKind, Subject
from runners.engines import own_environment
from runners.environments import parsers
from runners.environments.parsers import ParserDump
from runners.protocol.documents import SwitchNote, VersionNotesDocument
from runners.protocol.errors import Finding

_FLAG = re.compile(r"--[A-Za-z][\w-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """What would be launched: the command's words and the variables it sets; both empty if nothing is."""

    command: Sequence[str]
    environment: Mapping[str, str]

    @property
    def flags(self) -> list[str]:
        """``--name`` of each flag, without a value that is joined by ``=`` or a key behind a dot."""
        return [match[0] for word in self.command if (match := _FLAG.match(word))]


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionNotes:
    """``refusals`` keep the run from starting; ``warnings`` are told and kept."""

    document: VersionNotesDocument
    warnings: tuple[Finding, ...]
    refusals: tuple[Finding, ...]


def read(spec: Mapping[str, Any], invocation: Invocation) -> VersionNotes:
    """Notes on the engine and version that ``spec`` pins, against what would be launched."""
    key, version = str(spec["engine"]["key"]), spec["engine"]["version"]
    known = catalogue.up_to(key, str(version)) if version else ()
    dump = _dump(spec)
    noted = [(r, c) for r in known for c in r.changes if c.trips and not _came_back(r, c, known)]
    switches = [_note(record, change, invocation, dump) for record, change in noted]
    refusals = [*_unknown(key, invocation, dump), *_gone(noted, switches, dump)]
    refused = {finding.field for finding in refusals}
    warnings = [w for w in _warnings(noted, switches, str(version)) if w.field not in refused]
    return VersionNotes(
        document=VersionNotesDocument(
            engine=key,
            version=version,
            records=[_read_record(record) for record in known],
            parser=_read_parser(dump),
            parser_absent=None if dump else "no environment with a parser dump is pinned",
            switches=switches,
            warnings=[str(warning) for warning in warnings],
        ),
        warnings=tuple(warnings),
        refusals=tuple(refusals),
    )


def _came_back(record: VersionRecord, change: Change, known: Sequence[VersionRecord]) -> bool:
    """Whether a later version added again what this one took away."""
    later = (c for r in known if r.order > record.order for c in r.changes)
    return any(c.kind is ChangeKind.added and set(c.names) & set(change.names) for c in later)


def explained(key: str, version: str | None, findings: Sequence[Finding]) -> list[Finding]:
    """Findings about flags, each with what the records know of that flag's fate."""
    return [_explained(key, version, finding) for finding in findings]


def _explained(key: str, version: str | None, finding: Finding) -> Finding:
    flag = _FLAG.search(finding.field.rpartition(".")[2])
    fate = _fate(key, version, flag[0]) if flag and version else None
    if fate is None:
        return finding
    return Finding(
        field=finding.field,
        seen=finding.seen,
        allowed=finding.allowed,
        remedy=f"{finding.remedy} {fate}".strip(),
    )


def _fate(key: str, version: str | None, flag: str) -> str | None:
    """The newest record's words on a flag: since when, and what to use instead."""
    found = [
        (record, change)
        for record in catalogue.up_to(key, str(version))
        for change in record.changes
        if change.trips and _spelled(change, flag)
    ]
    return _words(*found[-1]) if found else None


def _words(record: VersionRecord, change: Change) -> str:
    use = f", use {change.use}" if change.use else ""
    said = worded(record, f"{', '.join(change.names)} {change.kind}{use}", shown_by=None)
    announced = (
        f", removal announced for {change.announced_removal}" if change.announced_removal else ""
    )
    floating = ", on a page that moves" if record.source.floating else ""
    return f"{record.product} {record.version}, {said}{announced} (read as {change.reading}{floating})."


def _note(
    record: VersionRecord, change: Change, invocation: Invocation, dump: ParserDump | None
) -> SwitchNote:
    is_flag = change.subject is Subject.flag
    return SwitchNote(
        record=record.id,
        subject=change.subject.value,
        names=list(change.names),
        kind=change.kind.value,
        use=change.use,
        announced_removal=change.announced_removal,
        note=change.note,
        reading=change.reading.value,
        label=record.label.value,
        source=record.source.id,
        floating=record.source.floating,
        parser_takes={n: dump.knows(n) for n in change.names} if dump and is_flag else None,
        used=[name for name in change.names if _is_used(change, name, invocation)],
        words=_words(record, change),
    )


def _is_used(change: Change, name: str, invocation: Invocation) -> bool:
    if change.subject is Subject.environment:
        return bool(fnmatch.filter(invocation.environment, name))
    if change.subject is Subject.flag:
        return any(_is_spelling(name, flag) for flag in invocation.flags)
    if change.subject is Subject.value:
        flag, _, value = name.partition(" ")
        joined = f" {' '.join(invocation.command)} ".replace("=", " ")
        return f" {flag} {value} " in joined
    if change.subject in (Subject.command, Subject.module):
        return name.split()[-1] in invocation.command
    return False


def _spelled(change: Change, flag: str) -> bool:
    return change.subject is Subject.flag and any(_is_spelling(n, flag) for n in change.names)


def _is_spelling(name: str, flag: str) -> bool:
    return flag in (name, name.replace("--", "--no-", 1))


def _unknown(key: str, invocation: Invocation, dump: ParserDump | None) -> list[Finding]:
    if dump is None:
        return []
    found = dump.unknown(dict.fromkeys(invocation.flags), field="engine.launch")
    return explained(key, dump.version, found)


def _gone(
    noted: Sequence[tuple[VersionRecord, Change]],
    switches: Sequence[SwitchNote],
    dump: ParserDump | None,
) -> Iterator[Finding]:
    """Removed switches in use, where no dump decides and the reading carries a refusal."""
    for (record, change), switch in zip(noted, switches, strict=True):
        decided = dump is not None and change.subject is Subject.flag
        if change.kind is ChangeKind.removed and record.is_evidence(change) and not decided:
            for name in switch["used"]:
                yield _finding(name, record.version, switch, change)


def _warnings(
    noted: Sequence[tuple[VersionRecord, Change]], switches: Sequence[SwitchNote], version: str
) -> Iterator[Finding]:
    """One a switch in use: what the newest record says of it."""
    newest: dict[str, Finding] = {}
    for (_, change), switch in zip(noted, switches, strict=True):
        for name in switch["used"]:
            newest[name] = _finding(name, version, switch, change)
    yield from newest.values()


def _finding(name: str, version: str, switch: SwitchNote, change: Change) -> Finding:
    taken = (switch["parser_takes"] or {}).get(name)
    return Finding(
        field=f"engine.launch.{name}",
        seen=f"{name} at version {version}: {change.kind}"
        + ("; the installed parser takes it" if taken else ""),
        allowed=change.use or "a command without it",
        remedy=switch["words"],
    )


def _dump(spec: Mapping[str, Any]) -> ParserDump | None:
    """What the installation of the pinned environment wrote down; None where the engine has none."""
    engine = spec["engine"]
    if engine["environment"]["kind"] not in ("venv", "container") or not engine["version"]:
        return None
    found = own_environment.find(engine)
    return parsers.read(found.parser) if found else None


def _read_record(record: VersionRecord) -> dict[str, Any]:
    return {
        "record": record.id,
        "status": record.status.value,
        "consulted": record.consulted.isoformat(),
        "body_verified": record.body_verified,
        "label": record.label.value,
        "source": record.source.id,
        "floating": record.source.floating,
    }


def _read_parser(dump: ParserDump | None) -> dict[str, Any] | None:
    if dump is None:
        return None
    return {"version": dump.version, "build": dump.build, "spellings": len(dump.flags)}
