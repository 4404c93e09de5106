"""Compare two declarations field by field, and say what a difference between their results could mean.

Both are first carried to the present schema version. Each identifying field gets one verdict: ``same``,
``declared variable`` (moved on purpose), ``confounder`` (differs without being declared) or ``unknown``
(not known on one side or on both: unknown never equals unknown). Context fields are not compared.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from experiments.identity import artifact_digest, canonical
from experiments.migrations import migrate
from experiments.output_cap import CapsReached, classify, is_output_cap
from experiments.schema.fields import Leaf, leaves
from experiments.schema.roles import Role

COMPLETE_INPUT_DIFFERS = "complete model input differs"
NOT_DECLARED = "not declared"
_INPUT_ITEMS = {
    "artifact.tokenizer": "tokenizer differs",
    "artifact.chat_template": "chat template differs",
    "artifact.tools": "tool definitions differ",
}


class Verdict(StrEnum):
    same = "same"
    declared_variable = "declared variable"
    confounder = "confounder"
    unknown = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldComparison:
    """One field of both declarations; ``note`` says why, where the verdict alone does not."""

    path: str
    left: Any
    right: Any
    verdict: Verdict
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """``model_input`` and ``conversion`` are null where there is nothing to say.

    ``reasons`` say why a difference between results cannot be attributed, or the results not be merged.
    ``attributable_to`` is the one declared variable that moved, if nothing else did; it holds only under
    ``conditions``, one for each field that is not known.
    """

    fields: tuple[FieldComparison, ...]
    model_input: str | None
    conversion: str | None
    attributable_to: str | None
    conditions: tuple[str, ...]
    reasons: tuple[str, ...]

    def with_verdict(self, verdict: Verdict) -> tuple[FieldComparison, ...]:
        return tuple(f for f in self.fields if f.verdict is verdict)


def compare(
    left: Mapping[str, Any],
    right: Mapping[str, Any],
    *,
    declared: Collection[str] = (),
    caps: CapsReached | None = None,
) -> Comparison:
    """The field-by-field comparison of two run documents.

    ``declared`` are paths that the study moved on purpose (``RunSpec.variables``), beside the fields whose
    schema role is ``variable``; ``caps`` says how many outputs reached their cap, if that was observed.
    """
    left, right = migrate(left), migrate(right)
    compared = tuple(_fields(left, right, declared, caps))
    conversion = _conversion(left.get("artifact") or {}, right.get("artifact") or {})
    model_input = _model_input(compared)
    moved = [f.path for f in compared if f.verdict is Verdict.declared_variable]
    reasons = tuple(_reasons(compared, conversion, model_input, moved))
    return Comparison(
        fields=compared,
        model_input=model_input,
        conversion=conversion,
        attributable_to=moved[0] if len(moved) == 1 and not reasons else None,
        conditions=tuple(f"{f.path}: {f.note}" for f in compared if f.verdict is Verdict.unknown),
        reasons=reasons,
    )


def _fields(
    left: Mapping[str, Any],
    right: Mapping[str, Any],
    declared: Collection[str],
    caps: CapsReached | None,
) -> Iterator[FieldComparison]:
    ours, theirs = _by_path(left), _by_path(right)
    unknown = tuple(
        f"{leaf.path}." for side in (ours, theirs) for leaf in side.values() if _unknown(leaf)
    )
    for path in dict.fromkeys([*ours, *theirs]):
        a, b = ours.get(path), theirs.get(path)
        if path.startswith(unknown):
            continue  # a part that one side does not know is compared as a whole
        if not any(leaf is not None and _unknown(leaf) for leaf in (a, b)) and (
            _is_null_node(a, path, theirs) or _is_null_node(b, path, ours)
        ):
            continue
        yield _field(path, a, b, declared, caps)


def _by_path(document: Mapping[str, Any]) -> dict[str, Leaf]:
    skipped = (Role.context, Role.reading)
    return {leaf.path: leaf for leaf in leaves(document) if leaf.role not in skipped}


def _unknown(leaf: Leaf) -> bool:
    return leaf.null_unknown and leaf.value is None


def _is_null_node(leaf: Leaf | None, path: str, other: Mapping[str, Leaf]) -> bool:
    """A null whose other side has fields below it: those fields are compared instead."""
    below = f"{path}."
    return leaf is not None and not leaf.value and any(p.startswith(below) for p in other)


def _field(
    path: str,
    left: Leaf | None,
    right: Leaf | None,
    declared: Collection[str],
    caps: CapsReached | None,
) -> FieldComparison:
    a = left.value if left is not None else NOT_DECLARED
    b = right.value if right is not None else NOT_DECLARED
    unknown = [
        side
        for side, leaf in (("left", left), ("right", right))
        if leaf is not None and _unknown(leaf)
    ]
    verdict, note = Verdict.same, ""
    if unknown:
        verdict = Verdict.unknown
        note = f"not known on the {' and the '.join(unknown)}: unknown never equals unknown"
    elif canonical(a) != canonical(b):
        role = next(leaf.role for leaf in (left, right) if leaf is not None)
        if is_output_cap(path):
            named, note = classify(path, declared=path in declared, caps=caps)
            verdict = Verdict(named)
        elif role is Role.variable or path in declared:
            verdict = Verdict.declared_variable
        else:
            verdict = Verdict.confounder
    return FieldComparison(path=path, left=a, right=b, verdict=verdict, note=note)


def _model_input(compared: Collection[FieldComparison]) -> str | None:
    changed = [
        words
        for item, words in _INPUT_ITEMS.items()
        if any(f.path.startswith(f"{item}.") and f.verdict is not Verdict.same for f in compared)
    ]
    if len(changed) > 1:
        return COMPLETE_INPUT_DIFFERS
    return changed[0] if changed else None


def _conversion(left: Mapping[str, Any], right: Mapping[str, Any]) -> str | None:
    for child, parent, words in (
        (left, right, "the left artifact is a conversion of the right one"),
        (right, left, "the right artifact is a conversion of the left one"),
    ):
        made_from = child.get("parent")  # a declaration made elsewhere may be no whole one
        if made_from is not None and made_from["digest"] == artifact_digest(parent):
            tools = ", ".join(f"{k} {v}" for k, v in sorted(made_from["tools"].items()))
            return f"{words} ({made_from['recipe']}; {tools}): they are two artifacts"
    return None


def _reasons(
    compared: Collection[FieldComparison],
    conversion: str | None,
    model_input: str | None,
    moved: Collection[str],
) -> Iterator[str]:
    if any(f.path.startswith("boundary.") and f.verdict is not Verdict.same for f in compared):
        yield "the system under test is defined differently: results are not compared or merged"
    if conversion is not None:
        yield conversion
    if model_input == COMPLETE_INPUT_DIFFERS:
        yield f"{model_input}: no part of the difference belongs to one of its items"
    for f in compared:
        if f.verdict is Verdict.confounder:
            yield f"{f.path} differs and is not a declared variable" + (
                f" ({f.note})" if f.note else ""
            )
    if len(moved) > 1:
        yield f"{len(moved)} declared variables moved at once: {', '.join(moved)}"
