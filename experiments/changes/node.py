"""A mapping of a record file, read field by field; a bad one is refused by file, field, value and choices."""

from collections.abc import Iterator, Mapping
from datetime import date
from enum import StrEnum
from typing import Any, TypeVar

from experiments.errors import Refusal, refuse

Choice = TypeVar("Choice", bound=StrEnum)


class Node:
    """``place`` is the file and the path inside it. Every field must be asked for before ``done``."""

    def __init__(self, place: str, value: Any) -> None:
        self.place = place
        if not isinstance(value, Mapping):
            raise refuse(
                field=place,
                seen=_shown(value),
                allowed="a mapping",
                remedy="See the other records.",
            )
        self._value = value
        self._asked: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._value

    def refusal(self, name: str, allowed: str, remedy: str = "Correct the record.") -> Refusal:
        seen = _shown(self._value[name]) if name in self._value else "absent"
        return refuse(field=f"{self.place}.{name}", seen=seen, allowed=allowed, remedy=remedy)

    def text(self, name: str) -> str:
        found = self._get(name)
        if not isinstance(found, str) or not found.strip():
            raise self.refusal(name, "text, in quotes where YAML would read a number")
        return " ".join(found.split())

    def maybe(self, name: str) -> str | None:
        return None if self._get(name) is None else self.text(name)

    def truth(self, name: str) -> bool:
        found = self._get(name)
        if not isinstance(found, bool):
            raise self.refusal(name, "true or false")
        return found

    def day(self, name: str) -> date:
        found = self._get(name)
        if not isinstance(found, date):
            raise self.refusal(name, "a date, YYYY-MM-DD")
        return found

    def choice(self, name: str, words: type[Choice], default: Choice | None = None) -> Choice:
        found = self._get(name)
        if found is None and default is not None:
            return default
        allowed = [word.value for word in words]
        if found not in allowed:
            raise self.refusal(name, ", ".join(allowed))
        return words(found)

    def texts(self, name: str) -> tuple[str, ...]:
        found = self._get(name)
        if found is None:
            return ()
        if not isinstance(found, list) or not all(isinstance(x, str) and x for x in found):
            raise self.refusal(name, "a list of texts")
        return tuple(found)

    def pairs(self, name: str) -> dict[str, str]:
        found = self._get(name)
        if found is None:
            return {}
        if not isinstance(found, dict) or not all(isinstance(x, str) for x in found.values()):
            raise self.refusal(name, "names with versions, each in quotes")
        return {str(key): value for key, value in found.items()}

    def nodes(self, name: str) -> Iterator["Node"]:
        found = self._get(name)
        if found is not None and not isinstance(found, list):
            raise self.refusal(name, "a list of mappings")
        for number, value in enumerate(found or []):
            yield Node(f"{self.place}.{name}[{number}]", value)

    def node(self, name: str) -> "Node | None":
        found = self._get(name)
        return None if found is None else Node(f"{self.place}.{name}", found)

    def done(self) -> None:
        if strange := sorted(map(str, set(self._value) - self._asked)):
            allowed = ", ".join(sorted(self._asked))
            raise self.refusal(strange[0], allowed, "Remove it, or write it as the schema has it.")

    def _get(self, name: str) -> Any:
        self._asked.add(name)
        return self._value.get(name)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
