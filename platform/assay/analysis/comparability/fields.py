"""The identity of two runs, field by field: what was declared, then what ran, one verdict each.

The declaration is compared by ``experiments.diff``. What ran differs on purpose only where a declared
variable moved that it follows from; where it follows from a confounder it is one too, but not a further
reason. A record that names a field the other record does not have leaves it unknown.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.analysis.comparability.facts import (
    ARTIFACT,
    ENGINE_PACKAGES,
    Fact,
    facts,
    item_of,
)
from assay.analysis.comparability.record import Observed, RunRecord
from experiments import diff
from experiments.diff import Verdict
from experiments.errors import Refusal
from experiments.output_cap import CapsReached

ONE_SIDE_ONLY = "named by one record only"
NOT_STATED = "not stated"
# Which parts of a declaration each observed part follows from.
_FOLLOWS: Mapping[str, tuple[str, ...]] = {
    ARTIFACT: ("artifact.",),
    ENGINE_PACKAGES: ("engine.",),
    "ran.engine_version": ("engine.",),
    "ran.launch_configuration": ("engine.", "device.", "artifact."),
    "ran.model_runner": ("engine.", "artifact."),
    "ran.attention_gemm_backend": ("engine.", "artifact.", "device."),
    "ran.graph_compile_mode": ("engine.", "device."),
    "ran.hardware_runtime": ("engine.", "device."),
    "ran.precision_path": ("engine.", "artifact.", "device."),
    "ran.parallel_layout": ("engine.", "device."),
    "host": ("device.",),
}
_SEVERITY = (Verdict.same, Verdict.declared_variable, Verdict.unknown, Verdict.confounder)
_MOST_PACKAGES = 6
_STATED = Fact(value="stated")
_ABSENT = Fact(value=None, unknown=NOT_STATED)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldPair:
    """One field of two runs. ``follows`` is the declared field that explains the difference, if one does."""

    path: str
    left: Any
    right: Any
    verdict: Verdict
    note: str = ""
    follows: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityPair:
    """Everything that two runs are compared by. ``declared`` is null where a declaration cannot be read."""

    fields: tuple[FieldPair, ...]
    declared: diff.Comparison | None
    unreadable: tuple[str, ...] = field(default=())

    def with_verdict(self, verdict: Verdict) -> tuple[FieldPair, ...]:
        return tuple(f for f in self.fields if f.verdict is verdict)

    @property
    def moved(self) -> tuple[str, ...]:
        """The declared variables that differ, apart from what merely follows from them."""
        return tuple(f.path for f in self.with_verdict(Verdict.declared_variable) if not f.follows)

    @property
    def confounders(self) -> tuple[FieldPair, ...]:
        """Differences that nothing declares, apart from what merely follows from them."""
        return tuple(f for f in self.with_verdict(Verdict.confounder) if not f.follows)


def is_declared(path: str) -> bool:
    """Whether a field is one of the declaration, not of what ran."""
    part = path.split(".")[0]
    return part not in ("ran", "host", "client", "environment") and path != ARTIFACT


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    return max(verdicts, key=_SEVERITY.index, default=Verdict.same)


def identity_pair(
    left: RunRecord, right: RunRecord, *, caps: CapsReached | None = None
) -> IdentityPair:
    """The comparison of two runs' identities. ``caps`` says how many outputs reached their caps."""
    try:
        declared = diff.compare(
            left.spec, right.spec, declared=left.variables | right.variables, caps=caps
        )
    except Refusal as refusal:
        observed = tuple(_observed(left.observed, right.observed, {}))
        return IdentityPair(
            fields=observed,
            declared=None,
            unreadable=tuple(str(finding) for finding in refusal.findings),
        )
    moved = {
        f.path: f.verdict
        for f in declared.fields
        if f.verdict in (Verdict.declared_variable, Verdict.confounder)
    }
    stated = tuple(
        FieldPair(path=f.path, left=f.left, right=f.right, verdict=f.verdict, note=f.note)
        for f in declared.fields
    )
    observed = tuple(_observed(left.observed, right.observed, moved))
    return IdentityPair(fields=(*stated, *observed), declared=declared)


def _observed(left: Observed, right: Observed, moved: Mapping[str, Verdict]) -> Iterator[FieldPair]:
    ours, theirs = facts(left), facts(right)
    alone: dict[str, tuple[list[str], list[str]]] = {}
    for path in dict.fromkeys([*ours, *theirs]):
        a, b = ours.get(path), theirs.get(path)
        item, part = item_of(path), _part(path)
        if a is not None and b is not None:
            yield _fact_pair(path, a, b, moved)
        elif path == part and (a or b or _STATED).unknown:
            yield _fact_pair(path, a or _STATED, b or _STATED, moved)
        elif _knows_nothing(ours if a is None else theirs, part):
            continue  # the part that one side does not know stands as a whole
        elif item:
            names = alone.setdefault(item, ([], []))
            names[0 if b is None else 1].append(path.removeprefix(f"ran.{item}."))
        else:
            yield _fact_pair(path, a or _ABSENT, b or _ABSENT, moved)
    for item, (left_only, right_only) in alone.items():
        yield _one_sided(item, left_only, right_only, moved)


def _part(path: str) -> str:
    item = item_of(path)
    return f"ran.{item}" if item else path.split(".")[0]


def _knows_nothing(side: Mapping[str, Fact], part: str) -> bool:
    whole = side.get(part)
    return whole is not None and bool(whole.unknown)


def _fact_pair(path: str, a: Fact, b: Fact, moved: Mapping[str, Verdict]) -> FieldPair:
    unknown = [(side, f.unknown) for side, f in (("left", a), ("right", b)) if f.unknown]
    if unknown:
        reasons = {why for _, why in unknown}
        words = (
            f"not known on either side: {reasons.pop()}"
            if len(unknown) > len(reasons) == 1
            else "; ".join(f"not known on the {side}: {why}" for side, why in unknown)
        )
        return FieldPair(
            path=path, left=a.value, right=b.value, verdict=Verdict.unknown, note=words
        )
    left, right = a.value, b.value
    note = ""
    if path == ENGINE_PACKAGES:
        note = _package_words(left, right)
        left, right = f"{len(left)} packages", f"{len(right)} packages"
    if _text(a.value) == _text(b.value):
        return FieldPair(path=path, left=left, right=right, verdict=Verdict.same)
    verdict, follows = _explained(path, moved)
    return FieldPair(path=path, left=left, right=right, verdict=verdict, note=note, follows=follows)


def _one_sided(
    item: str, left: Sequence[str], right: Sequence[str], moved: Mapping[str, Verdict]
) -> FieldPair:
    """Fields that only one record names. They follow the engine where that moved; else they are unknown."""
    verdict, follows = _explained(f"ran.{item}", moved)
    is_other_engine = "engine.key" in moved
    return FieldPair(
        path=f"ran.{item}: {ONE_SIDE_ONLY}",
        left=", ".join(left) or None,
        right=", ".join(right) or None,
        verdict=verdict if is_other_engine else Verdict.unknown,
        note="what the other one did there is not recorded",
        follows=follows if is_other_engine else "",
    )


def _explained(path: str, moved: Mapping[str, Verdict]) -> tuple[Verdict, str]:
    """Confounders first: what follows from one of them and from a declared variable is no variable."""
    part = next((p for p in _FOLLOWS if path == p or path.startswith(f"{p}.")), "")
    prefixes = _FOLLOWS.get(part, ())
    for verdict in (Verdict.confounder, Verdict.declared_variable):
        for name, found in moved.items():
            if found is verdict and name.startswith(prefixes):
                return verdict, name
    return Verdict.confounder, ""


def _package_words(left: Mapping[str, str], right: Mapping[str, str]) -> str:
    changed = [
        f"{name} {left.get(name, 'none')} and {right.get(name, 'none')}"
        for name in sorted({*left, *right})
        if left.get(name) != right.get(name)
    ]
    more = f" and {len(changed) - _MOST_PACKAGES} more" if len(changed) > _MOST_PACKAGES else ""
    return "; ".join(changed[:_MOST_PACKAGES]) + more


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
