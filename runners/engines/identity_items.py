"""The eight identity items put together from what was stated and what a trace proves.

An item without evidence keeps ``ran`` null and says why. Declared and ran are never one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runners.engines.base import EvidenceContext
from runners.protocol import layout
from runners.protocol.documents import IDENTITY_ITEMS, Evidence, IdentityItem, Pointer
from runners.protocol.events import EvidenceStrength


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What was said of an item, and each source's words with where they stand."""

    ran: dict[str, Any] = field(default_factory=dict)
    sources: list[tuple[str, Pointer | None]] = field(default_factory=list)

    def add(self, ran: Mapping[str, Any], words: str, pointer: Pointer | None) -> None:
        self.ran.update(ran)
        self.sources.append((words, pointer))


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    ran: Mapping[str, Any]
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """``problem`` is why the trace proves nothing."""

    proofs: Mapping[str, Proof]
    problem: str | None


def engine_version(context: EvidenceContext) -> str:
    return context.version or str(context.spec["engine"]["version"])


def items(
    context: EvidenceContext,
    *,
    declared: Mapping[str, Any],
    stated: Mapping[str, Stated],
    traced: Traced,
) -> list[IdentityItem]:
    """The items in their fixed order."""
    return [
        _item(context, name, declared[name], stated.get(name), traced) for name in IDENTITY_ITEMS
    ]


def _item(
    context: EvidenceContext, name: str, declared: Any, stated: Stated | None, traced: Traced
) -> IdentityItem:
    ran: dict[str, Any] = dict(stated.ran) if stated else {}
    sources = list(stated.sources) if stated else []
    if name == "engine_version" and context.version is not None:
        ran["answered"] = context.version
        sources.append((f"the engine answered that its version is {context.version}", None))
    evidence = [_said(context, words, pointer) for words, pointer in sources]
    if (proof := traced.proofs.get(name)) is not None:
        ran |= proof.ran
        evidence.append(proof.evidence)
    strongest = max(
        (EvidenceStrength(e["strength"]) for e in evidence),
        key=list(EvidenceStrength).index,
        default=EvidenceStrength.none,
    )
    return IdentityItem(
        item=name,
        declared=declared,
        ran=ran if evidence else None,
        strength=strongest.value,
        evidence=evidence,
        reason=None if evidence else _why_not(traced),
    )


def _why_not(traced: Traced) -> str:
    said = f"{layout.ENGINE_LOG} has no line of a known form on it and the engine answered nothing of it"
    return f"{said}; {traced.problem or 'the trace says nothing of it'}"


def _said(context: EvidenceContext, statement: str, pointer: Pointer | None) -> Evidence:
    return Evidence(
        strength=EvidenceStrength.log.value,
        statement=statement,
        pointer=pointer,
        conditions={},
        engine_version=engine_version(context),
        t_ns=None,
    )


def renamed(value: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Values under our names, those that are null left out."""
    return {ours: value[theirs] for theirs, ours in names.items() if value.get(theirs) is not None}


def declared_layout(
    spec: Mapping[str, Any], choices: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """What the declaration says of each item; ``choices`` names the settings that some items rest on."""
    engine, device, settings = spec["engine"], spec["device"], spec["engine"]["settings"]
    precision = {
        part: spec["artifact"]["precision"][part]["dtype"]
        for part in ("weights", "activations", "accumulation", "kv")
    }
    fixed: dict[str, Any] = {
        "engine_version": {
            "key": engine["key"],
            "version": engine["version"],
            "lock_sha256": engine["environment"]["lock_sha256"],
        },
        "launch_configuration": dict(settings),
        "hardware_runtime": {name: device[name] for name in ("name", "kind", "count")},
        "precision_path": precision,
        "parallel_layout": dict(engine["parallel"]),
    }
    for item, names in choices.items():
        fixed[item] = fixed.get(item, {}) | {name: settings[name] for name in names}
    return fixed
