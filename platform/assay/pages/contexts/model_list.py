"""The list of models: structure, parameters, weights and state of each, from its configuration alone."""

from dataclasses import dataclass

from assay.analysis.perfmodel.state import StateClass, state_classes
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.weights import count_parameters, weight_bytes
from assay.pages.contexts.known_models import KnownModel, known_models
from runners.protocol.errors import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """One model. Sizes in bytes; ``linear`` grows with every token, ``bounded`` up to a window."""

    slug: str
    name: str
    source: str
    family: str = ""
    mixers: str = ""
    layers: int | None = None
    total: int | None = None
    active: int | None = None
    format: str = ""
    weights: int | None = None
    linear: int | None = None
    bounded: bool = False
    constant: int | None = None
    longest: int | None = None
    finding: Finding | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelList:
    rows: list[ModelRow]
    wanted: str
    known: int


def model_list(wanted: str) -> ModelList:
    """Every model whose name, family or mixers hold the wanted words."""
    rows = [_row(model) for model in known_models()]
    words = wanted.lower().split()
    shown = [row for row in rows if all(word in _text(row) for word in words)]
    return ModelList(rows=shown, wanted=wanted, known=len(rows))


def _text(row: ModelRow) -> str:
    return f"{row.name} {row.family} {row.mixers} {row.format} {row.source}".lower()


def _row(model: KnownModel) -> ModelRow:
    file, structure, declared = model.file, model.structure, model.declared
    if structure is None or declared is None:
        return ModelRow(slug=file.slug, name=file.name, source=file.source, finding=model.finding)
    counts = count_parameters(structure)
    classes = [c for c in state_classes(structure, kv_dtype=declared.kv_dtype) if c.in_total]
    return ModelRow(
        slug=file.slug,
        name=file.name,
        source=file.source,
        family=structure.family,
        mixers=mixers(structure),
        layers=len(structure.layers),
        total=counts.total,
        active=counts.active_all,
        format=declared.weights.label,
        weights=weight_bytes(structure, declared.weights),
        linear=sum(c.bytes_per_token for c in classes if c.growth == "linear"),
        bounded=any(c.growth == "bounded" for c in classes),
        constant=_constant(classes),
        longest=structure.max_length,
    )


def mixers(structure: Structure) -> str:
    """``gqa x 10, gated delta net x 30``: the kinds of token mixing and how many layers have each."""
    counts: dict[str, int] = {}
    for layer, count in structure.kinds():
        if layer.mixer is not None:
            kind = layer.mixer.kind.replace("_", " ")
            counts[kind] = counts.get(kind, 0) + count
    return ", ".join(f"{kind} × {count}" for kind, count in counts.items())


def _constant(classes: list[StateClass]) -> int | None:
    found = sum(c.constant_bytes for c in classes)
    return found or None
