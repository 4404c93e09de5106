"""What a model's configuration alone says: bounds, state, memory. No model and no GPU is needed."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

from django.conf import settings
from django.http import HttpRequest
from ninja import Router, Schema
from pydantic import Field

from assay.accounts.models import Action
from assay.analysis.devices.device_roofs import THIS_HOST, measured_roofs, rated_roofs
from assay.analysis.perfmodel.answer.asked import Asked
from assay.analysis.perfmodel.parallel.layout import Layout
from assay.analysis.perfmodel.quantization.declared import Declared, declared_formats
from assay.analysis.perfmodel.reading.reader import read_structure
from assay.analysis.perfmodel.report import predict
from assay.analysis.perfmodel.roofs import DeviceRoofs
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.weights import weight_bytes
from assay.api.doors import may
from assay.api.errors import answers
from assay.api.texts import Words
from assay.api.throttle import PerMinute
from assay.archive.benchmarks import stored_benchmarks
from assay.archive.model_configs import model_files
from assay.archive.paths import Home
from experiments.errors import refuse

router = Router(tags=["models"])
DEFAULT_CONTEXT = 4096
MOST_LAYERS = 4096
MOST_CHARACTERS = 200_000
Count = Annotated[int, Field(ge=1, le=2**31)]
Degree = Annotated[int, Field(ge=1, le=4096)]


class ModelOut(Schema):
    """``model`` is the name to ask for."""

    model: str
    name: str
    source: str


class ModelsOut(Schema):
    models: list[ModelOut]


class WantedPrediction(Schema):
    """Either ``model``, one of those at hand, or ``config``: the document itself, with ``quant_config``."""

    model: Words | None = None
    config: dict[str, Any] | None = None
    quant_config: dict[str, Any] | None = None
    weight_dtype: Words | None = None
    kv_dtype: Words | None = None
    device: Words | None = None
    batch: Count = 1
    context: Count | None = None
    reused_tokens: Annotated[int, Field(ge=0, le=2**31)] = 0
    chunk_tokens: Count | None = None
    tp: Degree = 1
    pp: Degree = 1
    ep: Degree = 1
    dp: Degree = 1


@router.get("/models", response=answers(ModelsOut))
def list_models(request: HttpRequest) -> dict[str, Any]:
    """Configurations at hand: those shipped with Assay, and those of this installation."""
    found = model_files(Home(settings.HOME)).values()
    return {"models": [{"model": m.slug, "name": m.name, "source": m.source} for m in found]}


@router.post(
    "/predict",
    response=answers(dict[str, Any]),
    auth=may(Action.view),
    throttle=PerMinute("predict", 60),
)
def predict_model(request: HttpRequest, wanted: WantedPrediction) -> dict[str, Any]:
    """What ``assay predict --json`` prints. Nothing is registered: a run's are made before it."""
    config, companion = _configuration(wanted)
    structure = read_structure(config)
    declared = declared_formats(
        structure,
        config,
        companion=companion,
        weight_dtype=wanted.weight_dtype,
        kv_dtype=wanted.kv_dtype,
    )
    context = wanted.context
    if context is None:
        context = min(DEFAULT_CONTEXT, structure.max_length or DEFAULT_CONTEXT)
        structure = structure.with_assumption(f"no context given: {context} tokens")
    roofs = _roofs(wanted, structure, declared)
    return dict(predict(structure, declared, _asked(wanted, context), roofs=roofs))


def _configuration(
    wanted: WantedPrediction,
) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
    if (wanted.model is None) == (wanted.config is None):
        raise refuse(
            field="body.model",
            seen="neither model nor config" if wanted.model is None else "both",
            allowed="model, or config",
            remedy="GET /api/v1/models lists the models at hand.",
        )
    if wanted.config is not None:
        _check_size(wanted.config)
        return wanted.config, wanted.quant_config
    file = model_files(Home(settings.HOME)).get(str(wanted.model))
    if file is None:
        raise refuse(
            field="body.model",
            seen=wanted.model,
            allowed="one of GET /api/v1/models",
            remedy="Or send its config.json as config.",
        )
    found = file.read()
    return found.config, wanted.quant_config or found.companion


def _check_size(config: Mapping[str, Any]) -> None:
    """A configuration is small, and a model has no more layers than anybody could build."""
    length = len(json.dumps(config))
    if length > MOST_CHARACTERS:
        raise refuse(
            field="body.config",
            seen=f"{length} characters",
            allowed=f"at most {MOST_CHARACTERS}",
            remedy="Send config.json alone.",
        )
    for name, value in _numbers("config", config):
        if "layer" in name.lower() and value > MOST_LAYERS:
            raise refuse(
                field=f"body.{name}",
                seen=value,
                allowed=f"at most {MOST_LAYERS}",
                remedy="Correct the configuration.",
            )


def _numbers(at: str, value: Any) -> list[tuple[str, float]]:
    if isinstance(value, Mapping):
        return [pair for key, inner in value.items() for pair in _numbers(f"{at}.{key}", inner)]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return [(at, value)] if is_number else []


def _asked(wanted: WantedPrediction, context: int) -> Asked:
    return Asked(
        batch=wanted.batch,
        context=context,
        reused_tokens=wanted.reused_tokens,
        chunk_tokens=wanted.chunk_tokens,
        layout=Layout(tensor=wanted.tp, pipeline=wanted.pp, expert=wanted.ep, data=wanted.dp),
    )


def _roofs(
    wanted: WantedPrediction, structure: Structure, declared: Declared
) -> DeviceRoofs | None:
    if wanted.device is None:
        return None
    if wanted.device != THIS_HOST:
        return rated_roofs(wanted.device, declared)
    return measured_roofs(
        stored_benchmarks(Home(settings.HOME)),
        working_set_bytes=weight_bytes(structure, declared.weights),
        dtype=declared.model_dtype,
    )
