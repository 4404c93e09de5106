"""One model: what its configuration and a device say before anything is run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from assay.analysis.devices.device_roofs import THIS_HOST, measured_roofs, rated_roofs
from assay.analysis.perfmodel.answer.asked import Asked
from assay.analysis.perfmodel.answer.sweep import decode_sweep
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.parallel.layout import Layout
from assay.analysis.perfmodel.quantization.declared import Declared
from assay.analysis.perfmodel.report import predict
from assay.analysis.perfmodel.roofs import DeviceRoofs
from assay.analysis.perfmodel.state import state_classes
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.weights import weight_bytes
from assay.analysis.perfmodel.work import prepare
from assay.archive.benchmarks import stored_benchmarks
from assay.archive.paths import Home
from assay.pages.charts import crossover, layer_map, roofline, state_growth, step_waterfall
from assay.pages.charts.theme import Figure
from assay.pages.contexts.known_models import KnownModel
from runners.protocol.errors import Finding

LONGEST_SHOWN = 131072


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPage:
    """``answer`` is that of ``assay predict``; None beside the finding that refused the question."""

    model: KnownModel
    answer: Mapping[str, Any] | None
    figures: Mapping[str, Figure]
    tables: Mapping[str, Mapping[str, Any]]
    finding: Finding | None


def model_page(model: KnownModel, values: Mapping[str, Any]) -> ModelPage:
    structure, declared = model.structure, model.declared
    if structure is None or declared is None:
        return ModelPage(model=model, answer=None, figures={}, tables={}, finding=model.finding)
    try:
        roofs = _roofs(values["device"], structure, declared)
        asked = _asked(values, structure)
        answer = predict(structure, declared, asked, roofs=roofs)
    except ModelRefused as refusal:
        figures = {"layers": layer_map.layer_map(structure)}
        return ModelPage(
            model=model, answer=None, figures=figures, tables={}, finding=refusal.finding
        )
    crossing = _crossing(structure, declared, asked, roofs)
    return ModelPage(
        model=model,
        answer=answer,
        figures=_figures(structure, declared, answer, crossing, roofs),
        tables={
            "roofline": answer["decode"]["roofline"],
            "sweep": answer["sweep"],
            "crossover": crossing,
        },
        finding=None,
    )


def _asked(values: Mapping[str, Any], structure: Structure) -> Asked:
    context = values["context"]
    if structure.max_length is not None:
        context = min(context, structure.max_length)
    return Asked(
        batch=values["batch"],
        context=context,
        layout=Layout(
            tensor=values["tp"],
            pipeline=values["pp"],
            expert=values["ep"],
            data=values["dp"],
        ),
    )


def _roofs(name: str, structure: Structure, declared: Declared) -> DeviceRoofs | None:
    if not name:
        return None
    if name != THIS_HOST:
        return rated_roofs(name, declared)
    return measured_roofs(
        stored_benchmarks(Home(settings.HOME)),
        working_set_bytes=weight_bytes(structure, declared.weights),
        dtype=declared.model_dtype,
    )


def lengths(structure: Structure, *, at_least: int) -> list[int]:
    """Powers of two up to what the model takes, at most ``LONGEST_SHOWN``, and the asked length."""
    longest = min(structure.max_length or LONGEST_SHOWN, LONGEST_SHOWN)
    found = {at_least} | {2**power for power in range(7, 21) if 2**power <= longest}
    return sorted(found)


def _crossing(
    structure: Structure, declared: Declared, asked: Asked, roofs: DeviceRoofs | None
) -> dict[str, Any]:
    """Decode steps of the asked batch over growing contexts: where state outgrows the weights."""
    prepared = prepare(
        structure,
        formats=declared.weights,
        kv_dtype=declared.kv_dtype,
        activation_dtype=declared.model_dtype,
    )
    contexts = tuple(lengths(structure, at_least=asked.context))
    return decode_sweep(prepared, batches=(asked.batch,), contexts=contexts, roofs=roofs)


def _figures(
    structure: Structure,
    declared: Declared,
    answer: Mapping[str, Any],
    crossing: Mapping[str, Any],
    roofs: DeviceRoofs | None,
) -> dict[str, Figure]:
    classes = state_classes(structure, kv_dtype=declared.kv_dtype)
    tokens: Sequence[int] = lengths(structure, at_least=answer["decode"]["context_tokens"])
    figures = {
        "layers": layer_map.layer_map(structure),
        "state": state_growth.state_growth(classes, tokens),
        "crossover": crossover.crossover(crossing, answer["decode"]["kv_crossover_tokens"]),
    }
    if roofs is not None:
        figures["roofline"] = roofline.roofline(answer, roofs)
        figures["waterfall"] = step_waterfall.step_waterfall(answer["decode"]["operators"])
    return figures
