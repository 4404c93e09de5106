"""What fits where: models down, devices across, for one load; and one model over lengths and devices.

Only weights and state are known from a configuration. Workspace, runtime and fragmentation are not in it, so
"fits" says that the known items do, and a thin margin is no proof that a model cannot be served.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.analysis.devices.catalogue import DEVICES
from assay.analysis.devices.commitment import backs_capacity
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.memory import memory_budget, sequences_that_fit
from assay.analysis.perfmodel.parallel.layout import Layout
from assay.analysis.perfmodel.parallel.ranks import RankStage, rank_stages
from assay.pages.contexts.known_models import Executed, KnownModel, known
from assay.pages.contexts.known_models import known_models as all_models
from runners.protocol.errors import Finding

MARGIN = 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One model on one kind of device. ``verdict``: fits, thin, no, or unknown with its reason."""

    verdict: str
    sequences: int | None
    needed: int
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitsRow:
    slug: str
    name: str
    weights: int | None  # of the fullest rank
    state: int | None  # of one sequence there
    cells: Sequence[Cell]
    finding: Finding | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Devices of one capacity: for what fits they are alike."""

    names: tuple[str, ...]
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FitsPage:
    sizes: Sequence[Size]
    rows: Sequence[FitsRow]
    ranks: int
    margin: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthRow:
    """One capacity for one model: how many sequences fit at each length."""

    size: Size
    cells: Sequence[Cell]


def sizes() -> list[Size]:
    """Accelerators that back a capacity, those of equal memory together, smallest first."""
    names: dict[int, list[str]] = {}
    for device in DEVICES:
        if device.kind == "gpu" and backs_capacity(device):
            names.setdefault(int(device.memory_bytes.value), []).append(device.name)
    return [Size(names=tuple(names[size]), memory_bytes=size) for size in sorted(names)]


def fits_page(values: Mapping[str, Any], *, wanted: str) -> FitsPage:
    """Every model that is read and whose name holds the wanted words, on every device."""
    shown = sizes()
    layout = layout_of(values)
    words = wanted.lower().split()
    executed = Executed(
        weight_dtype=values["weight_dtype"] or None, kv_dtype=values["kv_dtype"] or None
    )
    models = [m for m in all_models() if all(word in m.file.name.lower() for word in words)]
    return FitsPage(
        sizes=shown,
        rows=[_row(known(m.file, executed), shown, layout, values) for m in models],
        ranks=layout.tensor * layout.pipeline,
        margin=MARGIN,
    )


def by_length(
    model: KnownModel, values: Mapping[str, Any], lengths: Sequence[int]
) -> list[LengthRow]:
    """The model on every device over lengths; empty where the layout does not suit it."""
    try:
        rank = _fullest(model, layout_of(values), max(lengths))
    except ModelRefused:
        return []
    return [
        LengthRow(
            size=size,
            cells=[_cell(rank, size, batch=values["batch"], context=n) for n in lengths],
        )
        for size in sizes()
    ]


def layout_of(values: Mapping[str, Any]) -> Layout:
    return Layout(
        tensor=values["tp"], pipeline=values["pp"], expert=values["ep"], data=values["dp"]
    )


def _row(
    model: KnownModel, shown: Sequence[Size], layout: Layout, values: Mapping[str, Any]
) -> FitsRow:
    file, finding = model.file, model.finding
    if finding is None:
        try:
            rank = _fullest(model, layout, values["context"])
        except ModelRefused as refusal:
            finding = refusal.finding
    if finding is not None:
        return FitsRow(
            slug=file.slug, name=file.name, weights=None, state=None, cells=(), finding=finding
        )
    return FitsRow(
        slug=file.slug,
        name=file.name,
        weights=rank.weight_bytes,
        state=rank.state_bytes(values["context"]),
        cells=[
            _cell(rank, size, batch=values["batch"], context=values["context"]) for size in shown
        ],
    )


def _fullest(model: KnownModel, layout: Layout, context: int) -> RankStage:
    """The rank that needs most for one sequence of ``context`` tokens."""
    assert model.structure is not None
    assert model.declared is not None
    ranks = rank_stages(
        model.structure,
        layout,
        formats=model.declared.weights,
        kv_dtype=model.declared.kv_dtype,
        activation_dtype=model.declared.model_dtype,
    )
    return max(ranks, key=lambda rank: rank.weight_bytes + rank.state_bytes(context))


def _cell(rank: RankStage, size: Size, *, batch: int, context: int) -> Cell:
    state = rank.state_bytes(context)
    budget = memory_budget(
        weights_bytes=rank.weight_bytes,
        state_bytes=batch * state,
        further_bytes={},
        margin=MARGIN,
        device_bytes=size.memory_bytes,
    )
    verdict = {"known items fit": "fits"}.get(budget.fits, budget.fits)
    return Cell(
        verdict=verdict,
        sequences=sequences_that_fit(
            device_bytes=size.memory_bytes,
            weights_bytes=rank.weight_bytes,
            further_bytes=0,
            bytes_per_sequence=max(1, state),
        ),
        needed=rank.weight_bytes + batch * state,
    )
