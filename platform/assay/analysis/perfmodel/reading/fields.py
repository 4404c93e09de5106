"""One configuration object, and which of its fields were read.

A reader takes the fields it understands. What is left over is flagged; a left-over field whose name speaks of
structure or of a size is refused by name, never ignored. A switch that is off and an empty value say nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.reading.vocabulary import NEUTRAL, names_a_size, speaks_of_structure
from runners.protocol.errors import Finding

_NOTHING = (None, False, 0, "")
_SHOWN = 120
_LARGEST = 2**40  # no size of a model; a longer number is a slip


class Fields:
    """A mapping whose reads are noted. ``path`` stands before a field's name in refusals."""

    def __init__(self, config: Mapping[str, Any], *, path: str = "") -> None:
        self._config = config
        self._path = path
        self._read: set[str] = set()

    def has(self, name: str) -> bool:
        """Whether the field is there and not null; asking does not read it."""
        return self._config.get(name) is not None

    def value(self, *names: str) -> Any:
        """The first of ``names`` that is there; others of them must agree. None when all are absent."""
        self._read.update(names)
        found = {name: self._config[name] for name in names if self.has(name)}
        values = list(found.values())
        for name, value in found.items():
            if value != values[0]:
                raise self.refused(name, value, f"{values[0]}, as another name of it says")
        return values[0] if values else None

    def count(self, *names: str, default: int | None = None) -> int:
        """A whole number of at least 1; ``default`` is the class's own where the field is absent."""
        found = self.optional_count(*names)
        if found is None and default is None:
            raise self.refused(names[0], "absent", "a whole number of at least 1")
        return found if found is not None else int(default or 0)

    def optional_count(self, *names: str) -> int | None:
        value = self.value(*names)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _LARGEST:
            name = next(name for name in names if self.has(name))
            raise self.refused(name, value, "a whole number of at least 1")
        return value

    def amount(self, name: str) -> int:
        """A whole number; absent and null are 0."""
        value = self.value(name)
        if value is None:
            return 0
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST:
            raise self.refused(name, value, "a whole number, 0 or more")
        return value

    def per_layer(self, *names: str, layers: int) -> list[int]:
        """A count for every layer: one number for all of them, or a list with one each."""
        value = self.value(*names)
        if not isinstance(value, list):
            return [self.count(*names)] * layers
        right = [v for v in value if type(v) is int and 1 <= v <= _LARGEST]
        if right != value or len(value) != layers:
            raise self.refused(names[0], value, f"one count, or a list of {layers} of them")
        return list(value)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """True or false; the text "false" would otherwise count as true."""
        value = self.value(name)
        if value is not None and not isinstance(value, bool):
            raise self.refused(name, value, "true, false or absent")
        return default if value is None else value

    def one_of(self, name: str, allowed: Sequence[str]) -> str | None:
        value = self.value(name)
        if value is not None and value not in allowed:
            raise self.refused(name, value, " or ".join(allowed))
        return value if value is None else str(value)

    def text(self, name: str) -> str | None:
        value = self.value(name)
        if value is not None and not isinstance(value, str):
            raise self.refused(name, value, "a word")
        return value

    def whole_numbers(self, name: str) -> list[int] | None:
        return self._list(name, lambda item: isinstance(item, int), "a list of whole numbers")

    def words(self, name: str) -> list[str] | None:
        return self._list(name, lambda item: isinstance(item, str), "a list of words")

    def objects(self, name: str) -> list[Mapping[str, Any]] | None:
        return self._list(name, lambda item: isinstance(item, Mapping), "a list of objects")

    def _list(self, name: str, fits: Callable[[object], bool], allowed: str) -> list[Any] | None:
        value = self.value(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(fits(item) for item in value):
            raise self.refused(name, value, allowed)
        return value

    def section(self, name: str) -> "Fields | None":
        """An object inside this one, read in its turn."""
        value = self.value(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.refused(name, value, "an object")
        return Fields(value, path=f"{self._path}{name}.")

    def with_defaults(self, outer: Mapping[str, Any]) -> "Fields":
        """These fields, with those of ``outer`` where they are absent here."""
        given = {name: value for name, value in outer.items() if not self.has(name)}
        return Fields({**self._config, **given}, path=self._path)

    def without_effect(self, names: Iterable[str]) -> None:
        """Fields that change no work, state or parameter count of this family."""
        self._read.update(names)

    def refused(self, name: str, seen: object, allowed: str) -> ModelRefused:
        text = str(seen)
        return ModelRefused(
            Finding(
                field=self._path + name,
                seen=text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...",
                allowed=allowed,
                remedy="This structure is not modelled; no figure is given in its place.",
            )
        )

    def left_over(self) -> list[str]:
        """A line for every field that was not read.

        Raises ModelRefused for one whose name speaks of structure or of a size.
        """
        flagged = []
        for name, value in self._config.items():
            if name in self._read or name in NEUTRAL or says_nothing(value):
                continue
            if speaks_of_structure(name) or names_a_size(name):
                raise self.refused(name, value, "absent: this structure is not understood")
            flagged.append(
                f"config field {self._path}{name} is not known to this model and was not used"
            )
        return flagged

    def structural(self) -> list[str]:
        """Names of unread fields that announce a mechanism."""
        return [
            name
            for name, value in self._config.items()
            if name not in self._read
            and name not in NEUTRAL
            and not says_nothing(value)
            and speaks_of_structure(name)
        ]


def says_nothing(value: object) -> bool:
    """A switch that is off, a null, a zero or an empty collection."""
    return value in _NOTHING if not isinstance(value, (list, dict)) else not value
