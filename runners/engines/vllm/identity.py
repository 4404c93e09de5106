"""The eight items of what ran, each from the strongest evidence that this run left.

``trace``  operators of this start's profile, counted against layers x steps;
``log``    a line of this run's engine.log, or what the engine answered of itself.
An item without evidence keeps ``ran`` null and says why. Declared and ran are never one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.engines.base import EvidenceContext
from runners.engines.vllm import identity_log, log_reader
from runners.engines.vllm.identity_log import Stated
from runners.engines.vllm.identity_trace import Proof, proofs
from runners.engines.vllm.log_lines import read_lines
from runners.engines.vllm.trace_reader import TraceProblem, read_trace
from runners.protocol import layout
from runners.protocol.documents import IDENTITY_ITEMS, Evidence, IdentityItem, Pointer
from runners.protocol.events import EvidenceStrength


@dataclass(frozen=True, slots=True, kw_only=True)
class _Traced:
    proofs: Mapping[str, Proof]
    problem: str | None


def items(context: EvidenceContext) -> list[IdentityItem]:
    """The items in their fixed order. Reads files of the bundle and what the engine answered."""
    facts = log_reader.facts_of(read_lines(context.bundle / layout.ENGINE_LOG))
    stated = identity_log.stated(facts, context.server_info)
    traced = _trace(context, facts)
    declared = _declared(context.spec)
    return [
        _item(context, name, declared[name], stated.get(name), traced) for name in IDENTITY_ITEMS
    ]


def _item(
    context: EvidenceContext, name: str, declared: Any, stated: Stated | None, traced: _Traced
) -> IdentityItem:
    ran: dict[str, Any] = dict(stated.ran) if stated else {}
    evidence = [
        _said(context, words, pointer) for words, pointer in (stated.sources if stated else ())
    ]
    if name == "engine_version" and context.version is not None:
        ran["answered"] = context.version
        evidence.append(_said(context, f"GET /version answered {context.version}", None))
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


def _why_not(traced: _Traced) -> str:
    said = f"{layout.ENGINE_LOG} has no line of a known form on it and the engine answered nothing of it"
    return f"{said}; {traced.problem or 'the trace says nothing of it'}"


def _declared(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What the declaration says of each item; null where it leaves the choice to the engine."""
    engine, device, settings = spec["engine"], spec["device"], spec["engine"]["settings"]
    precision = {
        part: spec["artifact"]["precision"][part]["dtype"]
        for part in ("weights", "activations", "accumulation", "kv")
    }

    def some(*names: str) -> dict[str, Any]:
        return {name: settings[name] for name in names}

    return {
        "engine_version": {
            "key": engine["key"],
            "version": engine["version"],
            "lock_sha256": engine["environment"]["lock_sha256"],
        },
        "launch_configuration": dict(settings),
        "model_runner": some("model_runner", "max_num_seqs", "max_num_batched_tokens"),
        "attention_gemm_backend": some("attention_backend", "linear_backend", "moe_backend"),
        "graph_compile_mode": some(
            "enforce_eager", "graph_mode", "graph_capture_sizes", "optimization_level"
        ),
        "hardware_runtime": {name: device[name] for name in ("name", "kind", "count")}
        | some("threads"),
        "precision_path": precision | some("dtype", "kv_dtype", "quantization"),
        "parallel_layout": dict(engine["parallel"]),
    }


def _trace(context: EvidenceContext, facts: Mapping[str, log_reader.Fact]) -> _Traced:
    """The newest trace of this run, judged; else why there is none."""
    folder = context.bundle / layout.TRACE_FOLDER
    files = sorted(folder.glob("*.pt.trace.json.gz"))
    if not files:
        return _Traced(proofs={}, problem="no trace was written")
    try:
        summary = read_trace(files[-1])
    except TraceProblem as problem:
        return _Traced(proofs={}, problem=str(problem))
    found = proofs(
        summary,
        layers=int(context.spec["artifact"]["config"]["L"]),
        file=files[-1].relative_to(context.bundle).as_posix(),
        version=_version(context),
        capability=identity_log.capability(facts, context.server_info),
    )
    if found:
        return _Traced(proofs=found, problem=None)
    return _Traced(
        proofs={},
        problem=f"the trace proves nothing: of version {summary.version}, {len(summary.steps)} steps, "
        "no attention operator called layers x steps times",
    )


def _version(context: EvidenceContext) -> str:
    return context.version or str(context.spec["engine"]["version"])


def _said(context: EvidenceContext, statement: str, pointer: Pointer | None) -> Evidence:
    return Evidence(
        strength=EvidenceStrength.log.value,
        statement=statement,
        pointer=pointer,
        conditions={},
        engine_version=_version(context),
        t_ns=None,
    )
