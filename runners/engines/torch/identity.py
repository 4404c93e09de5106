"""The eight items of what ran, each from the strongest evidence that this run left.

``trace``  operators of this start's profile, counted against layers x steps;
``log``    a line of this run's engine.log;
``source`` the pinned source text, only where neither exists.
An item without evidence keeps ``ran`` null and says why.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.engines.base import EvidenceContext
from runners.engines.torch.identity_trace import TraceEvidence, trace_evidence
from runners.engines.torch.log_reader import Echo, read_log
from runners.engines.torch.trace_reader import TraceProblem, read_trace
from runners.protocol import layout
from runners.protocol.documents import IDENTITY_ITEMS, Evidence, IdentityItem, Pointer
from runners.protocol.events import EvidenceStrength


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What the bundle holds for one item: what ran, and the evidence for it, strongest last."""

    ran: Any
    evidence: list[Evidence]
    reason: str | None


def items(context: EvidenceContext) -> list[IdentityItem]:
    """The items in their fixed order. Reads files of the bundle and what the engine answered."""
    log_file = context.bundle / layout.ENGINE_LOG
    echoes = read_log(log_file) if log_file.exists() else {}
    traced, no_trace = _trace(context, echoes)
    declared = _declared(context.spec)
    return [
        _item(name, declared[name], _seen(name, context, echoes, traced, no_trace))
        for name in IDENTITY_ITEMS
    ]


def _item(name: str, declared: Any, seen: _Seen) -> IdentityItem:
    strongest = max(
        (EvidenceStrength(e["strength"]) for e in seen.evidence),
        key=list(EvidenceStrength).index,
        default=EvidenceStrength.none,
    )
    return IdentityItem(
        item=name,
        declared=declared,
        ran=seen.ran,
        strength=strongest.value,
        evidence=seen.evidence,
        reason=seen.reason,
    )


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


def _seen(
    name: str,
    context: EvidenceContext,
    echoes: Mapping[str, Echo],
    traced: TraceEvidence | None,
    no_trace: str,
) -> _Seen:
    echo = echoes.get(name)
    evidence = [_from_log(context, echo)] if echo is not None else []
    ran: dict[str, Any] | None = dict(echo.value) if echo is not None else None
    answered = (context.server_info or {}).get(name)
    if ran is None and answered is not None:
        ran = dict(answered)
        evidence = [_from_answer(context, name)]
    if name == "engine_version" and context.version is not None:
        evidence.append(_from_version(context))
        ran = (ran or {}) | {"answered": context.version}
    found = traced.items.get(name) if traced is not None else None
    if found is not None:
        ran = (ran or {}) | found.ran
        evidence.append(found.evidence)
    if ran is not None:
        return _Seen(ran=ran, evidence=evidence, reason=None)
    reason = (
        f"{layout.ENGINE_LOG} has no line {name!r} and /server_info was not answered; {no_trace}"
    )
    return _Seen(ran=None, evidence=[], reason=reason)


def _trace(
    context: EvidenceContext, echoes: Mapping[str, Echo]
) -> tuple[TraceEvidence | None, str]:
    """The newest trace of this run, judged; else why there is none."""
    folder = context.bundle / layout.TRACE_FOLDER
    files = sorted(folder.glob("*.trace.json.gz"))
    if not files:
        return None, "no trace was written"
    path: Path = files[-1]
    try:
        summary = read_trace(path)
    except TraceProblem as problem:
        return None, str(problem)
    runner = echoes.get("model_runner")
    declared = int(context.spec["artifact"]["config"]["L"])
    layers = int(runner.value.get("layers", declared)) if runner else declared
    pointer_file = path.relative_to(context.bundle).as_posix()
    judged = trace_evidence(
        summary,
        layers=layers,
        file=pointer_file,
        version=_version(context),
        capability=_capability(echoes),
    )
    return judged, "the trace says nothing of it"


def _capability(echoes: Mapping[str, Echo]) -> dict[str, Any]:
    hardware = echoes.get("hardware_runtime")
    if hardware is None:
        return {}
    return {name: hardware.value.get(name) for name in ("cpu_capability", "torch_threads")}


def _version(context: EvidenceContext) -> str:
    return context.version or str(context.spec["engine"]["version"])


def _from_log(context: EvidenceContext, echo: Echo) -> Evidence:
    return _evidence(
        context,
        f"the {echo.process} process of this start printed {echo.label}",
        Pointer(file=layout.ENGINE_LOG, line=echo.line),
    )


def _from_answer(context: EvidenceContext, name: str) -> Evidence:
    pointer = Pointer(file=layout.SERVER_INFO, query=name)
    return _evidence(context, f"GET /server_info answered {name}", pointer)


def _from_version(context: EvidenceContext) -> Evidence:
    return _evidence(context, f"GET /version answered {context.version}", None)


def _evidence(context: EvidenceContext, statement: str, pointer: Pointer | None) -> Evidence:
    return Evidence(
        strength=EvidenceStrength.log.value,
        statement=statement,
        pointer=pointer,
        conditions={},
        engine_version=_version(context),
        t_ns=None,
    )
