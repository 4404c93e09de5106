"""Walk a declared document by its schema: each field with its path, role and what its null means.

The schema of ``engine`` depends on ``engine.key``; everything else is fixed by the root config. Paths are
dotted, list entries by index (``workload.cases.0.output_tokens``). A mapping, or a list of plain values, is
one field.
"""

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

from experiments.schema.engine import ENGINE_SCHEMAS
from experiments.schema.roles import Role
from experiments.schema.root import RootConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One field of a schema class: ``node`` is the class of its sub-fields, if it has any."""

    name: str
    allowed: str  # the values it takes, in words
    role: Role
    null_unknown: bool
    node: type | None
    listed: bool  # a list of ``node``


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One declared value. ``role`` is ``context`` below any context field."""

    path: str
    value: Any
    role: Role
    null_unknown: bool


@cache
def members(schema: type) -> tuple[Member, ...]:
    """The fields of a schema class, in the order written."""
    hints = typing.get_type_hints(schema)
    found = []
    for field in dataclasses.fields(schema):
        node, listed = _node(hints[field.name])
        found.append(
            Member(
                name=field.name,
                allowed=_in_words(hints[field.name]),
                role=Role(field.metadata["role"]),
                null_unknown=field.metadata.get("null") == "unknown",
                node=node,
                listed=listed,
            )
        )
    return tuple(found)


def _node(hint: Any) -> tuple[type | None, bool]:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        hint = next(a for a in typing.get_args(hint) if a is not type(None))
    if typing.get_origin(hint) is list:
        item = typing.get_args(hint)[0]
        return (item, True) if _is_schema(item) else (None, False)
    return (hint, False) if _is_schema(hint) else (None, False)


def _is_schema(hint: Any) -> typing.TypeGuard[type]:
    return isinstance(hint, type) and dataclasses.is_dataclass(hint)


_WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}


def _in_words(hint: Any) -> str:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        parts = [a for a in typing.get_args(hint) if a is not type(None)]
        return f"{_in_words(parts[0])}, or null"
    if typing.get_origin(hint) is list:
        return f"a list of {_in_words(typing.get_args(hint)[0])}"
    if typing.get_origin(hint) is dict:
        return "a mapping of names to values"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(str(choice.value) for choice in hint)
    if dataclasses.is_dataclass(hint):
        return "the fields " + ", ".join(f.name for f in dataclasses.fields(hint))
    return _WORDS.get(hint, "the fields of the chosen engine")


def node_of(member: Member, value: Any, schema: type) -> type | None:
    """The class of a member's sub-fields; for ``engine`` it is chosen by the value's own ``key``."""
    if schema is RootConfig and member.name == "engine" and isinstance(value, Mapping):
        return ENGINE_SCHEMAS.get(str(value.get("key")))
    return member.node


def leaves(document: Mapping[str, Any], schema: type = RootConfig) -> Iterator[Leaf]:
    """Every declared value with its role, in schema order. Fields absent from the document are skipped."""
    yield from _walk(document, schema, "", under_context=False)


def _walk(
    document: Mapping[str, Any], schema: type, prefix: str, *, under_context: bool
) -> Iterator[Leaf]:
    for member in members(schema):
        if member.name not in document:
            continue
        value, path = document[member.name], prefix + member.name
        context = under_context or member.role is Role.context
        node = node_of(member, value, schema)
        if node is not None and isinstance(value, Mapping):
            yield from _walk(value, node, path + ".", under_context=context)
        elif node is not None and member.listed and isinstance(value, Sequence) and value:
            for index, item in enumerate(value):
                yield from _walk(item, node, f"{path}.{index}.", under_context=context)
        else:
            role = Role.context if context else member.role
            yield Leaf(path=path, value=value, role=role, null_unknown=member.null_unknown)


def unknown_keys(
    document: Mapping[str, Any], schema: type = RootConfig, prefix: str = ""
) -> Iterator[str]:
    """Paths of a document that the schema does not have."""
    by_name = {m.name: m for m in members(schema)}
    for name, value in document.items():
        member = by_name.get(str(name))
        if member is None:
            yield f"{prefix}{name}"
            continue
        node = node_of(member, value, schema)
        if node is None:
            continue
        items = enumerate(value) if member.listed and isinstance(value, Sequence) else None
        if items is not None:
            for index, item in items:
                yield from unknown_keys(item, node, f"{prefix}{name}.{index}.")
        elif isinstance(value, Mapping):
            yield from unknown_keys(value, node, f"{prefix}{name}.")


def missing_keys(
    document: Mapping[str, Any], schema: type = RootConfig, prefix: str = ""
) -> Iterator[str]:
    """Paths that the schema has and a whole document must hold, null included, but does not."""
    for member in members(schema):
        path = prefix + member.name
        if member.name not in document:
            yield path
            continue
        value = document[member.name]
        node = node_of(member, value, schema)
        if node is not None and member.listed and isinstance(value, Sequence):
            for index, item in enumerate(value):
                yield from missing_keys(item, node, f"{path}.{index}.")
        elif node is not None and isinstance(value, Mapping):
            yield from missing_keys(value, node, path + ".")


@cache
def all_paths(engine: str | None = None) -> tuple[str, ...]:
    """Every path that a declaration may name; list entries stand as ``*``.

    ``engine`` is the key of the chosen engine: then settings of others are none. Null: of whichever.
    """
    paths: list[str] = []
    _collect(RootConfig, "", paths)
    chosen = ENGINE_SCHEMAS.get(engine or "")
    for schema in ENGINE_SCHEMAS.values() if chosen is None else (chosen,):
        _collect(schema, "engine.", paths)
    return tuple(dict.fromkeys(paths))


def _collect(schema: type, prefix: str, paths: list[str]) -> None:
    for member in members(schema):
        path = prefix + member.name
        paths.append(path)
        if member.node is not None:
            below = f"{path}.*" if member.listed else path
            if member.listed:
                paths.append(below)
            _collect(member.node, below + ".", paths)


def find(path: str) -> Member | None:
    """The field that a dotted path names, in the root or any engine's schema; None if there is none."""
    parts = path.split(".")
    starts: list[tuple[type, list[str]]] = [(RootConfig, parts)]
    if parts[0] == "engine":
        starts = [(schema, parts[1:]) for schema in ENGINE_SCHEMAS.values()] or starts
        if len(parts) == 1:
            return next(m for m in members(RootConfig) if m.name == "engine")
    for schema, rest in starts:
        if (found := _find(schema, rest)) is not None:
            return found
    return None


def siblings(path: str, engine: str | None = None) -> tuple[str, ...]:
    """The paths that stand beside ``path`` in the schema, if its parent is known; else none."""
    parent, _, _ = path.rpartition(".")
    depth = path.count(".")
    generic = ".".join("*" if part.isdigit() else part for part in parent.split("."))
    start = f"{generic}." if parent else ""
    return tuple(
        f"{parent}.{p.rpartition('.')[2]}" if parent else p
        for p in all_paths(engine)
        if p.startswith(start) and p.count(".") == depth and not p.endswith("*")
    )


def _find(schema: type, parts: Sequence[str]) -> Member | None:
    member = next((m for m in members(schema) if m.name == parts[0]), None)
    rest = list(parts[1:])
    if member is None or not rest:
        return member
    if member.node is None:
        return None
    if member.listed:
        if not rest[0].isdigit():
            return None
        rest = rest[1:]
        if not rest:
            return dataclasses.replace(member, listed=False)
    return _find(member.node, rest)
