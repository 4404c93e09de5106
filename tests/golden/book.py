"""The worked examples of the source text as test data. Expressions in the file are never evaluated."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

BOOK = Path(__file__).parents[1] / "data" / "golden" / "book_examples.yaml"


def identities(chapter: str) -> list[str]:
    """The ids of all worked examples of one chapter, such as ``ch1``."""
    return [name for name in _examples() if name.startswith(f"{chapter}.")]


@cache
def _examples() -> dict[str, dict[str, Any]]:
    document = yaml.load(BOOK.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return {e["id"]: e for e in document["examples"]}


class Example:
    """One worked example: its inputs by name, and checks against its expected values."""

    def __init__(self, identity: str) -> None:
        self.raw = _examples()[identity]
        self._checked: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        return self.raw["inputs"][name]["value"]

    def expect(self, **computed: Any) -> None:
        """Every value within its tolerance of the file's value, and of the printed figure if there is one."""
        for name, value in computed.items():
            entry = self.raw["expected"][name]
            self._checked.add(name)
            _hold(name, value, entry["value"], entry["tol"])
            printed = entry["printed"]
            if printed is not None and not isinstance(entry["value"], str | list | Mapping):
                stated = printed == "true" if isinstance(value, bool) else float(printed)
                _hold(f"{name} (printed)", value, stated, entry["tol"])

    def all_checked(self) -> None:
        """No expected value of the example was left out."""
        missing = set(self.raw["expected"]) - self._checked
        assert not missing, f"{self.raw['id']}: not computed: {sorted(missing)}"


def _hold(name: str, computed: Any, expected: Any, tolerance: Any) -> None:
    if isinstance(expected, list):
        assert len(computed) == len(expected), name
        for one, other in zip(computed, expected, strict=True):
            _hold(name, one, other, tolerance)
        return
    if tolerance == "exact" or isinstance(expected, bool | str | Mapping):
        if isinstance(expected, float):
            assert abs(computed - expected) <= 1e-9 * max(1.0, abs(expected)), (name, computed)
        else:
            assert computed == expected, (name, computed, expected)
        return
    if "rel" in tolerance:
        assert abs(computed - expected) <= tolerance["rel"] * abs(expected), (name, computed)
        return
    # A value that rounds to the printed figure may lie on the edge of the tolerance in binary.
    assert abs(computed - expected) <= tolerance["abs"] * (1 + 1e-9), (name, computed, expected)
