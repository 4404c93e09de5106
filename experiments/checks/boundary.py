"""Does the boundary say what was measured, who answers for each part, and what lies outside by its name?"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from experiments.errors import Finding
from experiments.schema.boundary import Segment

TEXTS = ("sut", "dependency_accounting", "tool_assumption")
# Where a reply can be held back: the server's writes, the gateway's response, the client's reads.
BUFFERING_POINTS = ("engine", "gateway", "client")
# Names that hide what was called: an external dependency is accounted on its own.
NAMELESS = frozenset({"other", "others", "misc", "miscellaneous", "rest", "various", "external"})


def check(document: Mapping[str, Any]) -> Iterator[Finding]:
    """Everything that is wrong with ``boundary``."""
    boundary = document["boundary"]
    for key in TEXTS:
        if not str(boundary[key]).strip():
            yield _wrong(f"boundary.{key}", "empty", "a sentence")
    if not boundary["included"]:
        yield _wrong("boundary.included", "nothing", "the parts inside the boundary")
    for point in BUFFERING_POINTS:
        if not str(boundary["buffering"].get(point) or "").strip():
            allowed = "how replies are buffered there, or that nothing is in the path"
            yield _wrong(f"boundary.buffering.{point}", "nothing", allowed)
    yield from _dependencies(boundary["external_dependencies"])
    for name in ("segments", "hops", "external_dependencies"):
        yield from _names(name, [row["name"] for row in boundary[name]])
    yield from _answers(boundary["segments"])


def _dependencies(rows: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    for index, row in enumerate(rows):
        field = f"boundary.external_dependencies.{index}"
        if str(row["name"]).strip().lower() in NAMELESS:
            yield _wrong(
                f"{field}.name", row["name"], "the dependency's own name, never a remainder"
            )
        delay = row["fixed_delay_s"]
        if delay is not None and delay < 0:
            yield _wrong(f"{field}.fixed_delay_s", delay, "0 or above, or null")
        if delay is not None and not row["mocked"]:
            yield _wrong(f"{field}.fixed_delay_s", delay, "null, because mocked is false")


def _names(group: str, names: list[str]) -> Iterator[Finding]:
    for index, name in enumerate(names):
        if not str(name).strip():
            yield _wrong(f"boundary.{group}.{index}.name", "empty", "a name")
    for name in sorted({n for n in names if names.count(n) > 1}):
        yield _wrong(f"boundary.{group}", f"{name} twice", "each name once")


def _answers(rows: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    for index, row in enumerate(rows):
        for field in (f.name for f in fields(Segment)):
            if isinstance(row[field], str) and not row[field].strip() and field != "name":
                yield _wrong(f"boundary.segments.{index}.{field}", "empty", "who answers for it")


def _wrong(field: str, seen: Any, allowed: str) -> Finding:
    return Finding(
        field=field, seen=str(seen), allowed=allowed, remedy="It is stored before the run."
    )
