"""What a user may write on the command line, checked before Hydra sees it.

Allowed are ``group=choice`` and ``path.to.field=value`` for groups and fields that exist; with a sweep also
``a,b,c``, ``range()`` and ``choice()``. Refused are ``+ ++ ~``, anything of Hydra's own, packages (``@``) and
interpolations, because each of them could change what a declaration means behind the reader's back.
"""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from experiments.errors import Finding, Refusal, refuse
from experiments.key_findings import nearest, unknown_key
from experiments.plain import INTERPOLATION, forbidden
from experiments.schema import fields

MAX_CELLS = 1000
STUDY = "study"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One point of a sweep: plain overrides, and which of them the sweep moved."""

    overrides: tuple[str, ...]
    moved: tuple[str, ...]


def cells(
    overrides: Sequence[str], *, groups: Mapping[str, Collection[str]], sweep: bool
) -> list[Cell]:
    """The checked overrides of every cell: one without ``sweep``, else the product of all choices.

    ``groups`` maps each config group to its choices. Raises Refusal with every finding at once.
    """
    parsed = [_parse(text) for text in overrides]
    findings = [f for o in parsed for f in _check(o, groups, sweep=sweep)]
    findings += _given_twice(parsed)
    if findings:
        raise Refusal(findings)
    options = [_options(o, groups) for o in parsed]
    count = 1
    for choices in options:
        count *= len(choices)
    if count > MAX_CELLS:
        raise refuse(
            field="sweep",
            seen=f"{count} cells",
            allowed=f"at most {MAX_CELLS}",
            remedy="Split the sweep into several studies.",
        )
    swept = [o.is_sweep_override() for o in parsed]
    return [
        Cell(
            overrides=tuple(cell),
            moved=tuple(text for text, moves in zip(cell, swept, strict=True) if moves),
        )
        for cell in itertools.product(*options)
    ]


def parsed_values(
    overrides: Sequence[str], *, groups: Mapping[str, Collection[str]]
) -> dict[str, object]:
    """Path -> value of overrides that each set one field to one value. Raises Refusal with every finding."""
    parsed = [_parse(text) for text in overrides]
    findings = [f for o in parsed for f in _check(o, groups, sweep=False)] + _given_twice(parsed)
    findings += [
        Finding(
            field=str(o.key_or_group),
            seen=str(o.input_line),
            allowed="a field of a group, path.to.field=value",
            remedy="A group is chosen by its own option.",
        )
        for o in parsed
        if "." not in str(o.key_or_group) or str(o.key_or_group).startswith("study.")
    ]
    if findings:
        raise Refusal(findings)
    return {str(o.key_or_group): o.value() for o in parsed}


def _parse(text: str) -> Override:
    if INTERPOLATION in text:
        raise refuse(
            field=text.partition("=")[0],
            seen=text,
            allowed="a plain value",
            remedy="Interpolations (${...}) are not resolved; write the value itself.",
        )
    try:
        return OverridesParser.create().parse_override(text)
    except HydraException as error:
        raise refuse(
            field=text.partition("=")[0].strip() or "override",
            seen=text if text.strip() else "an empty word",
            allowed="key=value",
            remedy=f"Quote a value with signs of its own: key='\"a=b\"' "
            f"({str(error).splitlines()[0]}).",
        ) from error


def _check(
    override: Override, groups: Mapping[str, Collection[str]], *, sweep: bool
) -> list[Finding]:
    key, written = override.key_or_group, str(override.input_line)
    if key == "hydra" or override.is_hydra_override():
        return [
            Finding(
                field=key,
                seen=written,
                allowed="fields of the study",
                remedy="Hydra's own settings are not part of a study; leave it out.",
            )
        ]
    if override.package is not None:
        return [
            Finding(
                field=key,
                seen=written,
                allowed=f"{key}=...",
                remedy="Leave out the @package part: each group has its one place.",
            )
        ]
    if key not in groups and fields.find(key) is None and not _is_of_an_engine(override):
        return [unknown_key(key, seen=written)]
    if override.is_add() or override.is_force_add() or override.is_delete():
        return [
            Finding(
                field=key,
                seen=written,
                allowed=f"{key}=value",
                remedy="Every field exists already: set it without + or ++, and ~ removes nothing.",
            )
        ]
    return _check_value(override, groups, sweep=sweep)


def _is_of_an_engine(override: Override) -> bool:
    """Which settings there are is told once the engine is chosen: by the composition."""
    changes = not (override.is_add() or override.is_force_add() or override.is_delete())
    return changes and str(override.key_or_group).startswith("engine.settings.")


def _check_value(
    override: Override, groups: Mapping[str, Collection[str]], *, sweep: bool
) -> list[Finding]:
    key, written = override.key_or_group, str(override.input_line)
    if override.is_sweep_override() and not sweep:
        return [
            Finding(
                field=key,
                seen=written,
                allowed="one value",
                remedy="Add -m to run one cell for each value.",
            )
        ]
    if override.is_sweep_override() and not override.is_discrete_sweep():
        return [
            Finding(
                field=key,
                seen=written,
                allowed="a,b,c, range(start,stop,step) or choice(a,b)",
                remedy="An interval has no cells of its own; list the values.",
            )
        ]
    if getattr(override.value(), "shuffle", False):
        return [
            Finding(
                field=key,
                seen=written,
                allowed="values without shuffle()",
                remedy="The order is drawn from study.seed and recorded; see study.order.",
            )
        ]
    findings = [
        Finding(
            field=f"{key}.{path}" if path else key,
            seen=seen,
            allowed="plain values",
            remedy="Nothing is resolved or instantiated; write the value itself.",
        )
        for value in _values(override)
        for path, seen in forbidden(value)
    ]
    for value in _values(override):
        if key == STUDY and value is None:
            continue  # none of the ready ones: every group is chosen by itself
        if key in groups and not isinstance(value, dict) and value not in groups[key]:
            near = nearest(str(value), groups[key])
            findings.append(
                Finding(
                    field=key,
                    seen=str(value),
                    allowed=", ".join(sorted(groups[key])),
                    remedy=f"Did you mean {key}={near}?" if near else f"Choose one for {key}.",
                )
            )
        elif key not in groups and not isinstance(value, dict) and value is not None:
            findings += _check_node(key, value)
    return findings


def _check_node(key: str, value: object) -> list[Finding]:
    """A field with sub-fields takes all of them together, never one word."""
    member = fields.find(key)
    if member is None or member.node is None or member.listed or value == "???":
        return []
    remedy = (
        f"Set its fields one by one, for example {key}.{fields.members(member.node)[0].name}=..."
    )
    if key.startswith("artifact.precision."):
        remedy = "A single word is no description of a precision. " + remedy
    return [Finding(field=key, seen=str(value), allowed=member.allowed, remedy=remedy)]


def _values(override: Override) -> list[object]:
    if not override.is_sweep_override():
        return [override.value()]
    if _is_glob(override):
        return []
    return [value.text if hasattr(value, "text") else value for value in override.sweep_iterator()]


def _is_glob(override: Override) -> bool:
    return override.value_type is not None and override.value_type.name == "GLOB_CHOICE_SWEEP"


def _options(override: Override, groups: Mapping[str, Collection[str]]) -> list[str]:
    key = override.get_key_element()
    if not override.is_sweep_override():
        return [f"{key}={override.get_value_element_as_str()}"]
    if _is_glob(override):
        chosen = override.value().filter(sorted(groups.get(key, ())))  # type: ignore[union-attr]
        if not chosen:
            raise refuse(
                field=key,
                seen=override.input_line,
                allowed=", ".join(sorted(groups.get(key, ()))) or "values, not a pattern",
                remedy="The pattern matches no choice of a config group.",
            )
        return [f"{key}={name}" for name in chosen]
    return [f"{key}={value}" for value in override.sweep_string_iterator()]


def _given_twice(parsed: Sequence[Override]) -> list[Finding]:
    keys = [o.key_or_group for o in parsed]
    return [
        Finding(
            field=key,
            seen=f"given {keys.count(key)} times",
            allowed="once",
            remedy="Keep the one that is meant.",
        )
        for key in dict.fromkeys(keys)
        if keys.count(key) > 1
    ]
