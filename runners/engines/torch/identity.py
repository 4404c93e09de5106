"""The eight items of what ran, each from the strongest evidence that this run left.

``trace``  operators of this start's profile, counted against layers x steps;
``log``    a line of this run's engine.log; where it is lost, what the engine answered of itself.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from runners.engines import identity_items, trace_proofs
from runners.engines.base import EvidenceContext
from runners.engines.identity_items import Stated
from runners.engines.torch import trace_reader
from runners.engines.torch.log_reader import Echo, read_log
from runners.protocol import layout
from runners.protocol.documents import IDENTITY_ITEMS, IdentityItem, Pointer


def items(context: EvidenceContext) -> list[IdentityItem]:
    """The items in their fixed order. Reads files of the bundle and what the engine answered."""
    log_file = context.bundle / layout.ENGINE_LOG
    echoes = read_log(log_file) if log_file.exists() else {}
    return identity_items.items(
        context,
        declared=_declared(context.spec),
        stated=_stated(context, echoes),
        traced=trace_proofs.newest(
            context,
            trace_reader.FILES,
            partial(trace_reader.shown, layers=_layers(context, echoes)),
            trace_reader.NAMES,
            capability=_capability(echoes),
        ),
    )


def _stated(context: EvidenceContext, echoes: Mapping[str, Echo]) -> dict[str, Stated]:
    found: dict[str, Stated] = {}
    for name in IDENTITY_ITEMS:
        said = Stated()
        answered = (context.server_info or {}).get(name)
        if (echo := echoes.get(name)) is not None:
            words = f"the {echo.process} process of this start printed {echo.label}"
            said.add(echo.value, words, Pointer(file=layout.ENGINE_LOG, line=echo.line))
        elif answered is not None:
            pointer = Pointer(file=layout.SERVER_INFO, query=name)
            said.add(answered, f"GET /server_info answered {name}", pointer)
        if said.sources:
            found[name] = said
    return found


def _declared(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What the declaration says of each item; null where it says nothing."""
    engine, device = spec["engine"], spec["device"]
    precision = {
        part: spec["artifact"]["precision"][part]["dtype"]
        for part in ("weights", "activations", "accumulation", "kv")
    }
    settings = engine["settings"]
    return {
        "engine_version": {"key": engine["key"], "version": engine["version"]},
        "launch_configuration": dict(settings),
        "model_runner": {
            name: settings[name] for name in ("max_batch", "token_budget", "when_out_of_blocks")
        },
        "attention_gemm_backend": None,
        "graph_compile_mode": None,
        "hardware_runtime": {name: device[name] for name in ("name", "kind", "count")}
        | {"threads": settings["threads"]},
        "precision_path": precision
        | {name: settings[name] for name in ("weights", "dtype", "kv_dtype")},
        "parallel_layout": {"count": device["count"]},
    }


def _layers(context: EvidenceContext, echoes: Mapping[str, Echo]) -> int:
    """Of the model that was loaded, where its runner said so; else as declared."""
    declared = int(context.spec["artifact"]["config"]["L"])
    runner = echoes.get("model_runner")
    return int(runner.value.get("layers", declared)) if runner else declared


def _capability(echoes: Mapping[str, Echo]) -> dict[str, Any]:
    hardware = echoes.get("hardware_runtime")
    if hardware is None:
        return {}
    return {name: hardware.value.get(name) for name in ("cpu_capability", "torch_threads")}
