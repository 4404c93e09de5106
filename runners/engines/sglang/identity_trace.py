"""What one trace proves of the eight items. Attention runs once per layer and step, in torch_native once per
layer and request: unless some attention operator was called exactly that often, the trace proves nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runners.engines.chrome_trace import Trace
from runners.engines.identity_items import Proof
from runners.engines.sglang.trace_reader import (
    ATTENTION,
    COMMUNICATION,
    COMPILED,
    GEMM,
    TraceStep,
    step_of,
)
from runners.protocol.documents import Evidence, Pointer
from runners.protocol.events import EvidenceStrength

_COMMONEST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    """An attention operator whose calls add up, and to what."""

    operator: str
    calls: int
    words: str


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
    trace: Trace, *, layers: int, file: str, version: str, capability: Mapping[str, Any]
) -> dict[str, Proof]:
    """Proofs by item; none where the counts do not add up."""
    steps = [step_of(span) for span in trace.spans]
    attention = _attention(trace, steps, layers)
    if attention is None:
        return {}
    prover = _Prover(
        file=file,
        version=version,
        conditions=_conditions(trace, steps, layers) | dict(capability),
    )
    return {
        "model_runner": _runner(steps, prover),
        "attention_gemm_backend": _backends(trace, attention, prover),
        "graph_compile_mode": _graphs(trace, prover),
        "precision_path": _precision(trace, prover),
        "parallel_layout": _parallel(trace, prover),
    }


def _attention(trace: Trace, steps: Sequence[TraceStep], layers: int) -> _Counted | None:
    requests = sum(step.requests for step in steps)
    sums = {
        layers * len(steps): f"{layers} layers x {len(steps)} steps",
        layers * requests: f"{layers} layers x {requests} requests in {len(steps)} steps",
    }
    if len(steps) == requests:
        sums = {layers * len(steps): f"{layers} layers x {len(steps)} steps"}
    for name, calls in trace.named(ATTENTION).items():
        if calls and calls in sums:
            return _Counted(operator=name, calls=calls, words=sums[calls])
    return None


def _conditions(trace: Trace, steps: Sequence[TraceStep], layers: int) -> dict[str, Any]:
    """Batches, shapes and types that the trace covers; it says nothing of others."""
    return {
        "scope": "same engine start, profile phase after the measured window",
        "layers": layers,
        "steps": len(steps),
        "batches": sorted({step.words for step in steps}),
        "attention_shapes": trace.inputs(ATTENTION, "shapes", _COMMONEST),
        "gemm_shapes": trace.inputs(GEMM, "shapes", _COMMONEST),
    }


def _runner(steps: Sequence[TraceStep], prover: _Prover) -> Proof:
    most = max(step.requests for step in steps)
    stages = sorted({step.stage for step in steps})
    return prover.proof(
        {"steps_traced": len(steps), "largest_batch_traced": most, "stages_traced": stages},
        f"{len(steps)} annotated steps ({', '.join(stages)}), at most {most} requests in one",
        'events named "step[..."',
    )


def _backends(trace: Trace, attention: _Counted, prover: _Prover) -> Proof:
    gemm = trace.named(GEMM)
    statement = (
        f"{attention.operator} was called {attention.calls} times = {attention.words}; "
        f"products: {_counts(gemm)}"
    )
    return prover.proof(
        {"attention_operators": trace.named(ATTENTION), "gemm_operators": gemm},
        statement,
        f'events named "{attention.operator}", {", ".join(gemm)}',
    )


def _graphs(trace: Trace, prover: _Prover) -> Proof:
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


def _precision(trace: Trace, prover: _Prover) -> Proof:
    attention = trace.inputs(ATTENTION, "types", _COMMONEST)
    gemm = trace.inputs(GEMM, "types", _COMMONEST)
    return prover.proof(
        {"attention_inputs": attention, "gemm_inputs": gemm},
        f"input types of the products: {_counts(gemm)}; of attention: {_counts(attention)}. "
        "Accumulation inside a kernel is not in the trace",
        '"Input type" of attention and matrix products',
    )


def _parallel(trace: Trace, prover: _Prover) -> Proof:
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


def _counts(calls: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in calls.items()) or "none seen"
