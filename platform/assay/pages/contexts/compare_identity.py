"""The identity of compared runs on a page: what nobody declared first, what is the same on demand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from assay.analysis.comparability.comparison import Comparison, FieldRow
from assay.pages.hostile import visible
from experiments.diff import Verdict

FOLLOWING = "following"
# In the order of the page; the word is the verdict's own.
GROUPS: tuple[tuple[str, Any, Any], ...] = (
    (
        Verdict.confounder.value,
        _("Confounders"),
        _("They differ, and nobody declared that they should: a difference belongs to nothing."),
    ),
    (
        Verdict.declared_variable.value,
        _("Declared variables"),
        _("Moved on purpose, by the study or by the field's own role."),
    ),
    (
        Verdict.unknown.value,
        _("Unknown"),
        _("Not known on a side: unknown never equals unknown, so each is a condition."),
    ),
    (
        FOLLOWING,
        _("Follow from these"),
        _("What ran differs as the declaration differs; the declared field is named beside."),
    ),
    (Verdict.same.value, _("Same"), _("Equal on every side.")),
)
# A longer group is folded; what is the same comes only when it is asked for, and then open.
MOST_OPEN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldLine:
    path: str
    verdict: str
    values: list[tuple[str, Any]]  # letter of the side, value
    note: str
    follows: str

    @property
    def all_unknown(self) -> bool:
        return self.verdict == Verdict.unknown and all(v is None for _k, v in self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldGroup:
    key: str
    label: str
    note: str
    lines: list[FieldLine]
    count: int

    @property
    def is_same(self) -> bool:
        """Equal on every side: one value stands for all of them."""
        return self.key == Verdict.same

    @property
    def is_open(self) -> bool:
        return self.is_same or (self.key != FOLLOWING and self.count <= MOST_OPEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityDiff:
    groups: list[FieldGroup]
    total: int
    same: int
    shows_all: bool

    @property
    def differing(self) -> int:
        return self.total - self.same


def identity_diff(found: Comparison, *, shows_all: bool) -> IdentityDiff:
    letters = [side.letter for side in found.sides]
    by_group: dict[str, list[FieldRow]] = {key: [] for key, _label, _note in GROUPS}
    for row in found.fields:
        by_group[_group(row)].append(row)
    return IdentityDiff(
        groups=[
            FieldGroup(
                key=key,
                label=str(label),
                note=str(note),
                lines=[_line(row, letters) for row in own],
                count=len(own),
            )
            for key, label, note in GROUPS
            if (own := by_group[key]) and (key != Verdict.same or shows_all)
        ],
        total=len(found.fields),
        same=len(by_group[Verdict.same.value]),
        shows_all=shows_all,
    )


def _group(row: FieldRow) -> str:
    follows = row.follows and row.verdict in (Verdict.declared_variable, Verdict.confounder)
    return FOLLOWING if follows else row.verdict.value


def _line(row: FieldRow, letters: Sequence[str]) -> FieldLine:
    return FieldLine(
        path=row.path,
        verdict=row.verdict.value,
        values=[(k, _shown(value)) for k, value in zip(letters, row.values, strict=True)],
        note=visible("; ".join(row.notes)),
        follows=row.follows,
    )


def _shown(value: Any) -> Any:
    """What a bundle says is text that nobody vouches for."""
    return visible(value) if isinstance(value, str) else value


def exported(found: Comparison, letters: Sequence[str]) -> tuple[list[str], list[list[Any]]]:
    """Every field with exact values, and the columns."""
    columns = ["field", "verdict", *letters, "note", "follows"]
    rows = [
        [row.path, row.verdict.value, *row.values, "; ".join(row.notes), row.follows or None]
        for row in found.fields
    ]
    return columns, rows
