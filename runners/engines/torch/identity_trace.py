"""What one trace proves of the eight items. Counts must add up, else the trace is only shown, not believed.

Attention is annotated once per layer and step, so its calls are layers x steps. Products are counted as they
came: how many a layer has depends on the model.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.engines.torch.attention_names import ANNOTATION
from runners.engines.torch.trace_reader import ATTENTION_OPS, GEMM_OPS, Operator, TraceSummary
from runners.protocol.documents import Evidence, Pointer
from runners.protocol.events import EvidenceStrength


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    ran: dict[str, Any]
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEvidence:
    items: Mapping[str, Proof]


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


def trace_evidence(
    trace: TraceSummary,
    *,
    layers: int,
    file: str,
    version: str,
    capability: Mapping[str, Any],
) -> TraceEvidence:
    """Proofs by item. A trace without steps, or whose counts do not add up, proves nothing."""
    steps = len(trace.steps)
    expected = layers * steps
    if not steps or trace.attention_calls != expected:
        return TraceEvidence(items={})
    conditions = _conditions(trace, layers) | dict(capability)

    prover = _Prover(file=file, version=version, conditions=conditions)
    return TraceEvidence(
        items={
            "model_runner": _runner(trace, prover),
            "attention_gemm_backend": _backends(trace, layers, prover),
            "graph_compile_mode": _graphs(trace, prover),
            "precision_path": _precision(trace, prover),
            "parallel_layout": _parallel(trace, prover),
        }
    )


def _conditions(trace: TraceSummary, layers: int) -> dict[str, Any]:
    """Batches, shapes and types the trace covers; it says nothing of others."""
    return {
        "scope": "same engine start, profile phase after the measured window",
        "layers": layers,
        "steps": len(trace.steps),
        "batches": sorted(
            {f"decode={s.decode} prefill={s.prefill} tokens={s.tokens}" for s in trace.steps}
        ),
        "attention_shapes": _most(trace, ATTENTION_OPS, "shapes"),
        "gemm_shapes": _most(trace, GEMM_OPS, "shapes"),
    }


def _runner(trace: TraceSummary, prover: _Prover) -> Proof:
    most = max(s.decode + s.prefill for s in trace.steps)
    return prover.proof(
        {"steps_traced": len(trace.steps), "largest_batch_traced": most},
        f"{len(trace.steps)} annotated steps of the flattened batch, at most {most} requests in one",
        'events named "step[...]"',
    )


def _backends(trace: TraceSummary, layers: int, prover: _Prover) -> Proof:
    steps = len(trace.steps)
    attention, gemm = trace.ran(ATTENTION_OPS), trace.ran(GEMM_OPS)
    statement = (
        f"{ANNOTATION} was called {trace.attention_calls} times = {layers} layers x {steps} steps; "
        f"inside it {_counts(attention)}; products: {_counts(gemm)}. "
        "Which library kernel ran below aten is not in a CPU trace"
    )
    return prover.proof(
        {"attention_operators": attention, "gemm_operators": gemm},
        statement,
        f'events named "{ANNOTATION}", {", ".join((*attention, *gemm))}',
    )


def _graphs(trace: TraceSummary, prover: _Prover) -> Proof:
    found = list(trace.compiled)
    statement = (
        f"compiled or captured regions ran: {', '.join(found)}"
        if found
        else "no compiled region, generated kernel or graph replay lies in any step: operators ran one by one"
    )
    return prover.proof(
        {"mode": "compiled" if found else "eager", "compiled_regions": found},
        statement,
        "events inside steps named like compiled regions",
    )


def _precision(trace: TraceSummary, prover: _Prover) -> Proof:
    attention = _most(trace, ATTENTION_OPS, "types")
    gemm = _most(trace, GEMM_OPS, "types")
    return prover.proof(
        {"attention_inputs": attention, "gemm_inputs": gemm},
        f"input types of the products: {_counts(gemm)}; of attention: {_counts(attention)}. "
        "Accumulation inside a kernel is not in the trace",
        '"Input type" of attention and matrix products',
    )


def _parallel(trace: TraceSummary, prover: _Prover) -> Proof:
    found = list(trace.communication)
    statement = (
        f"communication ran: {', '.join(found)}"
        if found
        else "no collective or point-to-point operator lies in any step"
    )
    return prover.proof(
        {"communication_operators": found},
        statement,
        "events inside steps of c10d, gloo, nccl or mpi",
    )


def _most(trace: TraceSummary, names: tuple[str, ...], part: str) -> dict[str, int]:
    """Inputs of these operators by how often they came, the six commonest."""
    counted: dict[str, int] = {}
    for name in names:
        operator: Operator | None = trace.operators.get(name)
        if operator is None:
            continue
        for text, calls in getattr(operator, part).items():
            counted[text] = counted.get(text, 0) + calls
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:6])


def _counts(calls: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in calls.items()) or "none seen"
