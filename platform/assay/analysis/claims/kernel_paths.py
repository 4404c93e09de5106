"""In which of four states each path of a run was, by what was asked and what the run shows.

Nothing is assumed: a path of which the run shows nothing has no state, and a fallback is one that was printed
or seen. What was asked for is no evidence of what ran.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runners.protocol.documents import Evidence, IdentityItem
from runners.protocol.events import EvidenceStrength


class PathState(StrEnum):
    by_default = "on by default"
    explicit = "explicitly enabled"
    fallback = "fallback or downgrade"
    not_supported = "not supported"


@dataclass(frozen=True, slots=True, kw_only=True)
class PathForm:
    """Where an identity item keeps one path: names of values in ``declared`` and ``ran``.

    ``implied`` are switches that ask for a value of the path when they are on. ``wanted`` names what the
    engine says it wanted and did not take, ``refused`` what it says it cannot do here; ``traced``
    what a trace counted.
    """

    path: str
    item: str
    asked: tuple[str, ...]
    seen: tuple[str, ...]
    wanted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    traced: tuple[str, ...] = ()
    implied: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelPath:
    """``state`` is None where the run does not show it, for ``reason``."""

    path: str
    state: PathState | None
    asked: str | None
    seen: str | None
    strength: EvidenceStrength
    evidence: tuple[Evidence, ...]
    reason: str


FORMS: tuple[PathForm, ...] = (
    PathForm(
        path="attention",
        item="attention_gemm_backend",
        asked=("attention_backend",),
        seen=("attention", "backend", "attention_backend"),
        refused=("attention_refused", "attention_refused_because"),
        traced=("attention_operators",),
    ),
    PathForm(
        path="matrix products",
        item="attention_gemm_backend",
        asked=("linear_backend",),
        seen=("linear_fallback", "linear"),
        wanted=("linear_wanted",),
        traced=("gemm_operators",),
    ),
    PathForm(
        path="experts",
        item="attention_gemm_backend",
        asked=("moe_backend",),
        seen=("moe",),
    ),
    PathForm(
        path="model runner",
        item="model_runner",
        asked=("model_runner",),
        seen=("runner",),
        wanted=("v2_not_taken_because_it_requires",),
    ),
    PathForm(
        path="graphs",
        item="graph_compile_mode",
        asked=("graph_mode", "decode_graphs"),
        seen=("compilation.cudagraph_mode", "cuda_graph_backend_decode", "mode"),
        refused=("graphs_off_because",),
        traced=("mode_traced",),
        implied=(("enforce_eager", "NONE"),),
    ),
)
_LEFT_TO_THE_ENGINE = frozenset({"chosen", "auto", "default", ""})


def kernel_paths(
    items: Sequence[IdentityItem], *, refused: Mapping[str, str] | None = None
) -> list[KernelPath]:
    """Every path of ``FORMS``. ``refused`` are paths that the engine itself turned down, with its words."""
    by_name = {item["item"]: item for item in items}
    return [_path(form, by_name.get(form.item), (refused or {}).get(form.path)) for form in FORMS]


def _path(form: PathForm, item: IdentityItem | None, refused: str | None) -> KernelPath:
    declared = _values(item["declared"] if item else None)
    ran = _values(item["ran"] if item else None)
    asked = _asked(form, declared)
    seen, wanted = _first(ran, form.seen), _first(ran, form.wanted)
    said = ": ".join(str(ran[name]) for name in form.refused if ran.get(name))
    state, reason = _state(
        asked, seen, wanted, refused or (f"the engine printed {said}" if said else None)
    )
    evidence = tuple(item["evidence"]) if item and state is not None else ()
    traced = _first(ran, form.traced) is not None
    return KernelPath(
        path=form.path,
        state=state,
        asked=asked,
        seen=seen,
        strength=_strength(evidence, traced=traced),
        evidence=evidence,
        reason=reason,
    )


def _asked(form: PathForm, declared: Mapping[str, Any]) -> str | None:
    """What the declaration asked for; None where it leaves the choice to the engine."""
    implied = next((value for name, value in form.implied if declared.get(name) is True), None)
    asked = implied or _first(declared, form.asked)
    return None if asked in _LEFT_TO_THE_ENGINE else asked


def _state(
    asked: str | None, seen: str | None, wanted: str | None, refused: str | None
) -> tuple[PathState | None, str]:
    if refused is not None:
        return PathState.not_supported, refused
    if seen is None:
        return None, "neither log nor trace of this run names it"
    if wanted is not None:
        return PathState.fallback, f"in the engine's own words it did not take, or lacked: {wanted}"
    if asked is None:
        return PathState.by_default, "nothing was asked for, and the run names it"
    if asked.casefold() == seen.casefold():
        return PathState.explicit, "it was asked for, and the run names it"
    return PathState.fallback, f"{asked} was asked for, and the run names another"


def _strength(evidence: Sequence[Evidence], *, traced: bool) -> EvidenceStrength:
    """That of this path: another path's trace in the same item is not its own."""
    order = list(EvidenceStrength)
    found = [EvidenceStrength(e["strength"]) for e in evidence]
    if not traced:
        found = [strength for strength in found if strength is not EvidenceStrength.trace]
    return max(found, key=order.index, default=EvidenceStrength.none)


def _values(document: Any) -> Mapping[str, Any]:
    return document if isinstance(document, Mapping) else {}


def _first(values: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((str(values[n]) for n in names if values.get(n) not in (None, {}, [])), None)
