"""Engines, their versions as they were read and as they ran, and what lies between two versions."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db.models import Count
from django.http import Http404

from assay.accounts.access import Access
from assay.archive.parser_dumps import Dump, FlagDifference, compare, dump_of, dumps
from assay.archive.paths import Home
from assay.ledger.visibility import visible_runs
from assay.pages.contexts.version_records import RecordView, views
from experiments.changes import catalogue
from experiments.changes.components import ComponentMap, component_map
from experiments.changes.determinism import DeterministicMode, deterministic_modes
from experiments.changes.interfaces import InterfaceRecord, interfaces
from experiments.changes.record import VersionRecord
from experiments.errors import Refusal
from runners import catalogue as adapters
from runners.catalogue import ENGINES

# An engine of an environment of its own has a script that dumps its parser; only such a one can be installed.
_SCRIPT = "dump_parser.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRow:
    """One engine; ``runs`` is by version."""

    key: str
    label: str
    records: Sequence[VersionRecord]
    environments: list[str]
    runs: list[tuple[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePage:
    row: EngineRow
    records: list[RecordView]
    dumps: list[Dump]
    versions: list[str]
    components: ComponentMap | None
    interfaces: tuple[InterfaceRecord, ...]
    modes: tuple[DeterministicMode, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentRow:
    name: str
    older: str | None
    newer: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffPage:
    """``flags`` is None where a parser dump is missing; ``missing`` names the versions without one."""

    row: EngineRow
    older: str
    newer: str
    records: list[RecordView]
    components: list[ComponentRow]
    dumps: list[Dump]
    flags: list[FlagDifference] | None
    missing: list[str]
    installable: bool


def engine_rows(access: Access) -> list[EngineRow]:
    return [_row(key, access) for key in sorted(ENGINES)]


def engine_page(key: str, access: Access) -> EnginePage:
    row = _known(key, access)
    found = list(dumps(Home(settings.HOME), key))
    return EnginePage(
        row=row,
        records=views(row.records, access),
        dumps=found,
        versions=_versions(row, found),
        components=component_map(key),
        interfaces=interfaces(key),
        modes=deterministic_modes(key),
    )


def diff_page(key: str, older: str, newer: str, access: Access) -> DiffPage:
    """Raises Refusal for versions that are none or the wrong way round."""
    row = _known(key, access)
    records = catalogue.between(key, older, newer)
    home = Home(settings.HOME)
    pair = [(version, dump_of(home, key, version)) for version in (older, newer)]
    found = [dump for _, dump in pair if dump is not None]
    return DiffPage(
        row=row,
        older=older,
        newer=newer,
        records=views(records, access),
        components=_components(catalogue.find(key, older), catalogue.find(key, newer)),
        dumps=found,
        flags=compare(*found) if len(found) == len(pair) else None,
        missing=[version for version, dump in pair if dump is None],
        installable=(Path(adapters.__file__).parent / "engines" / key / _SCRIPT).is_file(),
    )


def _known(key: str, access: Access) -> EngineRow:
    if key not in ENGINES:
        raise Http404(f"no engine {key}")
    return _row(key, access)


def _row(key: str, access: Access) -> EngineRow:
    counted = (
        visible_runs(access)
        .filter(engine_key=key)
        .values_list("engine_version")
        .annotate(runs=Count("pk"))
        .order_by("engine_version")
    )
    return EngineRow(
        key=key,
        label=ENGINES[key].label,
        records=catalogue.records(key),
        environments=[dump.environment for dump in dumps(Home(settings.HOME), key)],
        runs=list(counted),
    )


def _versions(row: EngineRow, found: Sequence[Dump]) -> list[str]:
    """Versions that a comparison can be asked of, oldest first."""
    known = {record.version for record in row.records} | {dump.version for dump in found}
    return sorted(known, key=_order)


def _order(version: str) -> tuple[int, object]:
    try:
        return (1, catalogue.parsed(version))
    except Refusal:
        return (0, version)


def _components(older: VersionRecord | None, newer: VersionRecord | None) -> list[ComponentRow]:
    was, now = (dict(record.components) if record else {} for record in (older, newer))
    return [
        ComponentRow(name=name, older=was.get(name), newer=now.get(name))
        for name in dict.fromkeys((*was, *now))
        if was.get(name) != now.get(name)
    ]
