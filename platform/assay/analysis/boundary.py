"""The responsibility boundary of a run as a table: six fields, who answers for each segment, and the hops.

An older declaration lacks segments and hops; what it lacks is shown as absent and never made up.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOCK_MARK = "mocked: its variability was outside the experiment"
NONE_DECLARED = "none"
NOT_KNOWN = "not known"
FIELDS = (
    ("sut", "system under test"),
    ("included", "included parts"),
    ("external_dependencies", "external dependencies"),
    ("dependency_accounting", "how dependencies are accounted"),
    ("tool_assumption", "assumption about tools"),
    ("exclusions", "exclusions"),
)
HOP_SETTINGS = (
    ("response_buffering", "response buffering"),
    ("compression", "compression"),
    ("chunk_granularity", "chunk granularity"),
    ("protocol_conversion", "protocol conversion"),
    ("client_parsing", "client parsing"),
    ("render_throttling", "render throttling"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The three questions about one segment."""

    name: str
    who: str  # introduces, configures, upgrades
    measurable_alone: bool
    regression_owner: str

    @property
    def attribution(self) -> str:
        if self.measurable_alone:
            return "can be measured alone"
        return "only seen as part of a whole: no share is attributed to it"


@dataclass(frozen=True, slots=True, kw_only=True)
class HopSettings:
    """What one place does to a reply; ``settings`` in the order of ``HOP_SETTINGS``."""

    name: str
    settings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryTable:
    """``fields``: label, then its lines."""

    fields: tuple[tuple[str, tuple[str, ...]], ...]
    segments: tuple[Answers, ...]
    hops: tuple[HopSettings, ...]
    mocked: tuple[str, ...]


def boundary_table(declared: Mapping[str, Any]) -> BoundaryTable:
    """The table of ``spec["boundary"]``."""
    return BoundaryTable(
        fields=tuple((label, _lines(declared.get(key))) for key, label in FIELDS),
        segments=tuple(_answers(row) for row in declared.get("segments") or ()),
        hops=tuple(_hop(row) for row in declared.get("hops") or ()),
        mocked=mocked(declared),
    )


def mocked(declared: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the mocked dependencies: each result of the run carries them."""
    rows = declared.get("external_dependencies") or ()
    return tuple(str(row["name"]) for row in rows if row.get("mocked"))


def _lines(value: Any) -> tuple[str, ...]:
    if value is None:
        return (NOT_KNOWN,)
    if isinstance(value, str):
        return (value,)
    return tuple(_line(entry) for entry in value) or (NONE_DECLARED,)


def _line(entry: Any) -> str:
    if not isinstance(entry, Mapping):
        return str(entry)
    if not entry.get("mocked"):
        return f"{entry['name']} (real)"
    delay = entry.get("fixed_delay_s")
    stand_in = f", a fixed delay of {delay:g} s stands in" if delay is not None else ""
    return f"{entry['name']} ({MOCK_MARK}{stand_in})"


def _answers(row: Mapping[str, Any]) -> Answers:
    roles = (
        ("introduced", row["introduced_by"]),
        ("configured", row["configured_by"]),
        ("upgraded", row["upgraded_by"]),
    )
    owners: dict[str, list[str]] = {}
    for role, owner in roles:
        owners.setdefault(owner, []).append(role)
    return Answers(
        name=row["name"],
        who="; ".join(f"{', '.join(done)} by {owner}" for owner, done in owners.items()),
        measurable_alone=row["measurable_alone"],
        regression_owner=row["regression_owner"],
    )


def _hop(row: Mapping[str, Any]) -> HopSettings:
    return HopSettings(
        name=row["name"],
        settings=tuple(row.get(key) or NOT_KNOWN for key, _ in HOP_SETTINGS),
    )
