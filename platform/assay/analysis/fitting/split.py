"""Which cells of a scan fit parameters and which only judge them: declared before anybody has looked.

Whole cells are held out, never single steps: steps of one cell share its shape and its hour, so that a random
half of them would be explained by the other half whatever the parameters were.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.analysis.errors import ClaimRefused

FEWEST_FITTED, FEWEST_HELD = 3, 1
ALTERNATE = "every second cell between the first and the last, in the order of their variables"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A combination of the variables that the scan moves, by declared field."""

    name: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    rule: str
    fitted: tuple[str, ...]
    held_out: tuple[str, ...]

    def side(self, cell: str) -> str:
        return "holdout" if cell in self.held_out else "calibration"


def declared_split(cells: Sequence[Cell], held_out: Sequence[Mapping[str, str]]) -> Split:
    """Hold out every cell that has all values of one of ``held_out``.

    Raises ClaimRefused for a rule that meets no cell: it was meant for another scan.
    """
    held: list[str] = []
    for rule in held_out:
        met = [c.name for c in cells if _meets(c, rule)]
        if not met:
            raise ClaimRefused(
                field="holdout",
                seen=_text(rule),
                allowed="values of cells that were run: " + "; ".join(c.name for c in cells),
                remedy="Name the cells to hold out by fields of their declaration.",
            )
        held += met
    names = tuple(dict.fromkeys(c.name for c in cells))
    rule_text = " or ".join(_text(rule) for rule in held_out)
    return _checked(f"declared: {rule_text}", names, tuple(n for n in names if n in held))


def alternate_split(cells: Sequence[Cell]) -> Split:
    """Without a declaration: alternate cells in order, so that what is held out lies inside the range."""
    ordered = sorted(cells, key=lambda c: tuple(_sortable(v) for _, v in sorted(c.values.items())))
    names = tuple(dict.fromkeys(c.name for c in ordered))
    return _checked(ALTERNATE, names, names[1:-1:2])


def _checked(rule: str, names: Sequence[str], held: tuple[str, ...]) -> Split:
    fitted = tuple(name for name in names if name not in held)
    if len(fitted) < FEWEST_FITTED or len(held) < FEWEST_HELD:
        raise ClaimRefused(
            field="cells",
            seen=f"{len(fitted)} to fit, {len(held)} held out",
            allowed=f"at least {FEWEST_FITTED} to fit and {FEWEST_HELD} held out, of different shapes",
            remedy="Run more cells of the scan, or hold out others.",
        )
    return Split(rule=rule, fitted=fitted, held_out=held)


def _meets(cell: Cell, rule: Mapping[str, str]) -> bool:
    return all(field in cell.values and str(cell.values[field]) == v for field, v in rule.items())


def _text(rule: Mapping[str, str]) -> str:
    return ", ".join(f"{field}={value}" for field, value in rule.items())


def _sortable(value: Any) -> tuple[int, float, str]:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return (0, float(value), "") if number else (1, 0.0, str(value))
