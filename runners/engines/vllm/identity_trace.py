"""What one trace proves of the eight items. Attention runs once per layer and step: unless some attention
operator was called exactly layers x steps times, the trace is shown and proves nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.engines.vllm.trace_reader import (
    ATTENTION,
    CACHE_WRITE,
    COMMUNICATION,
    COMPILED,
    GEMM,
    TraceSummary,
)
from runners.protocol.documents import Evidence, Pointer
from runners.protocol.events import EvidenceStrength

_COMMONEST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    ran: dict[str, Any]
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prover:
    file: str
    version: str
    conditions: dict[str, Any]

    def proof(self, ran: dict[str, Any], statement: str, query: str) -> Proof:
        evidence = Evidence(
            strength=EvidenceStrength.trace.value,
            statement=statement,
            pointer=Pointer(file=self.file, query=query),
            conditions=self.conditions,
            engine_version=self.version,
            t_ns=None,
        )
        return Proof(ran=ran, evidence=evidence)


def proofs(
    trace: TraceSummary, *, layers: int, file: str, version: str, capability: Mapping[str, Any]
) -> dict[str, Proof]:
    """Proofs by item; none where the counts do not add up or the trace is of another version."""
    attention = _attention(trace, layers)
    if attention is None or trace.version not in (None, version):
        return {}
    prover = _Prover(
        file=file, version=version, conditions=_conditions(trace, layers) | dict(capability)
    )
    found = {
        "model_runner": _runner(trace, prover),
        "attention_gemm_backend": _backends(trace, layers, attention, prover),
        "graph_compile_mode": _graphs(trace, prover),
        "precision_path": _precision(trace, prover),
        "parallel_layout": _parallel(trace, prover),
    }
    if trace.version is not None:
        found["engine_version"] = prover.proof(
            {"traced": trace.version}, "the trace itself names the version", "vllm_version"
        )
    return found


def _attention(trace: TraceSummary, layers: int) -> str | None:
    expected = layers * len(trace.steps)
    ran = trace.named(ATTENTION)
    return next((name for name, calls in ran.items() if calls == expected and calls), None)


def _conditions(trace: TraceSummary, layers: int) -> dict[str, Any]:
    """Batches, shapes and types that the trace covers; it says nothing of others."""
    return {
        "scope": "same engine start, profile phase after the measured window",
        "layers": layers,
        "steps": len(trace.steps),
        "batches": sorted(
            {
                f"prefill={s.prefill_requests} ({s.prefill_tokens} tokens) decode={s.decode_requests}"
                for s in trace.steps
            }
        ),
        "attention_shapes": _most(trace, ATTENTION, "shapes"),
        "gemm_shapes": _most(trace, GEMM, "shapes"),
    }


def _runner(trace: TraceSummary, prover: _Prover) -> Proof:
    most = max(s.prefill_requests + s.decode_requests for s in trace.steps)
    return prover.proof(
        {"steps_traced": len(trace.steps), "largest_batch_traced": most},
        f"{len(trace.steps)} annotated steps that computed tokens, at most {most} requests in one",
        'events named "execute_context_..."',
    )


def _backends(trace: TraceSummary, layers: int, attention: str, prover: _Prover) -> Proof:
    steps = len(trace.steps)
    gemm, written = trace.named(GEMM), trace.named(CACHE_WRITE)
    statement = (
        f"{attention} was called {layers * steps} times = {layers} layers x {steps} steps; "
        f"cache writes: {_counts(written)}; products: {_counts(gemm)}"
    )
    ran = {
        "attention_operators": trace.named(ATTENTION),
        "cache_write_operators": written,
        "gemm_operators": gemm,
    }
    return prover.proof(ran, statement, f'events named "{attention}", {", ".join(gemm)}')


def _graphs(trace: TraceSummary, prover: _Prover) -> Proof:
    found = list(trace.named(COMPILED))
    statement = (
        f"compiled or captured regions ran: {', '.join(found)}"
        if found
        else "no compiled region, generated kernel or graph replay lies in any step: operators ran one by one"
    )
    return prover.proof(
        {"mode_traced": "compiled" if found else "eager", "compiled_regions": found},
        statement,
        "events inside steps named like compiled regions",
    )


def _precision(trace: TraceSummary, prover: _Prover) -> Proof:
    attention, gemm = _most(trace, ATTENTION, "types"), _most(trace, GEMM, "types")
    return prover.proof(
        {"attention_inputs": attention, "gemm_inputs": gemm},
        f"input types of the products: {_counts(gemm)}; of attention: {_counts(attention)}. "
        "Accumulation inside a kernel is not in the trace",
        '"Input type" of attention and matrix products',
    )


def _parallel(trace: TraceSummary, prover: _Prover) -> Proof:
    found = list(trace.named(COMMUNICATION))
    statement = (
        f"communication ran: {', '.join(found)}"
        if found
        else "no collective or point-to-point operator lies in any step"
    )
    return prover.proof(
        {"communication_operators": found, "world_size_traced": trace.world_size},
        statement,
        "distributedInfo; events inside steps of c10d, gloo, nccl or mpi",
    )


def _most(trace: TraceSummary, pattern: Any, part: str) -> dict[str, int]:
    """Inputs of these operators by how often they came, the commonest."""
    counted: dict[str, int] = {}
    for name in trace.named(pattern):
        for text, calls in getattr(trace.operators[name], part).items():
            counted[text] = counted.get(text, 0) + calls
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return dict(ordered[:_COMMONEST])


def _counts(calls: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in calls.items()) or "none seen"
