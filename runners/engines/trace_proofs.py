"""What one trace proves of the eight items, for any engine whose steps are annotated.

Attention runs once per layer and step (in some back ends per layer and request): unless some operator was
called exactly that often, the trace is shown and proves nothing. The names that matter are the engine's.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.engines import chrome_trace
from runners.engines.base import EvidenceContext
from runners.engines.chrome_trace import Trace
from runners.engines.identity_items import Proof, Traced, engine_version
from runners.protocol import layout
from runners.protocol.documents import Evidence, Pointer
from runners.protocol.events import EvidenceStrength

_COMMONEST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Names of operators, by what they are; ``note`` is what a trace of this engine cannot show."""

    attention: re.Pattern[str]
    gemm: re.Pattern[str]
    compiled: re.Pattern[str]
    communication: re.Pattern[str]
    cache_write: re.Pattern[str] | None = None
    steps: str = "step"  # how a step's annotation begins
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one step computed; ``stage`` where the engine names it."""

    requests: int
    words: str
    stage: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """An operator whose calls add up, and to what."""

    operator: str
    calls: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A trace with its steps understood; ``counted`` is None where no calls add up."""

    trace: Trace
    batches: Sequence[Batch]
    counted: Counted | None
    layers: int


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


def newest(
    context: EvidenceContext,
    pattern: str,
    show: Callable[[Path], Shown],
    names: Names,
    *,
    capability: Mapping[str, Any],
) -> Traced:
    """The newest trace file of this run, judged; else why there is none. ``show`` may raise TraceProblem."""
    files = sorted((context.bundle / layout.TRACE_FOLDER).glob(pattern), key=lambda p: p.name)
    if not files:
        return Traced(proofs={}, problem="no trace was written")
    try:
        shown = show(files[-1])
    except chrome_trace.TraceProblem as problem:
        return Traced(proofs={}, problem=str(problem))
    version, traced = engine_version(context), shown.trace.version
    if shown.counted is None or traced not in (None, version):
        return Traced(proofs={}, problem=_adds_up_to_nothing(shown))
    prover = _Prover(
        file=files[-1].relative_to(context.bundle).as_posix(),
        version=version,
        conditions=_conditions(shown, names) | dict(capability),
    )
    return Traced(proofs=_proofs(shown, shown.counted, names, prover), problem=None)


def per_step(trace: Trace, attention: re.Pattern[str], layers: int) -> Counted | None:
    """The first attention operator that was called once per layer and step."""
    steps = len(trace.spans)
    ran = trace.named(attention).items()
    name = next((name for name, calls in ran if calls and calls == layers * steps), None)
    if name is None:
        return None
    return Counted(operator=name, calls=layers * steps, words=f"{layers} layers x {steps} steps")


def _adds_up_to_nothing(shown: Shown) -> str:
    of = f" of version {shown.trace.version}," if shown.trace.version else ""
    return (
        f"the trace proves nothing:{of} {len(shown.batches)} steps, no attention operator called as often "
        f"as {shown.layers} layers ask"
    )


def _conditions(shown: Shown, names: Names) -> dict[str, Any]:
    """Batches, shapes and types that the trace covers; it says nothing of others."""
    return {
        "scope": "same engine start, profile phase after the measured window",
        "layers": shown.layers,
        "steps": len(shown.batches),
        "batches": sorted({batch.words for batch in shown.batches}),
        "attention_shapes": shown.trace.inputs(names.attention, "shapes", _COMMONEST),
        "gemm_shapes": shown.trace.inputs(names.gemm, "shapes", _COMMONEST),
    }


def _proofs(shown: Shown, counted: Counted, names: Names, prover: _Prover) -> dict[str, Proof]:
    trace = shown.trace
    found = {
        "model_runner": _runner(shown.batches, names, prover),
        "attention_gemm_backend": _backends(trace, counted, names, prover),
        "graph_compile_mode": _graphs(trace, names, prover),
        "precision_path": _precision(trace, names, prover),
        "parallel_layout": _parallel(trace, names, prover),
    }
    if trace.version is not None:
        found["engine_version"] = prover.proof(
            {"traced": trace.version}, "the trace itself names the version", "the trace's version"
        )
    return found


def _runner(batches: Sequence[Batch], names: Names, prover: _Prover) -> Proof:
    most = max(batch.requests for batch in batches)
    stages = sorted({batch.stage for batch in batches if batch.stage is not None})
    ran: dict[str, Any] = {"steps_traced": len(batches), "largest_batch_traced": most}
    if stages:
        ran["stages_traced"] = stages
    of = f" ({', '.join(stages)})" if stages else ""
    return prover.proof(
        ran,
        f"{len(batches)} annotated steps that computed tokens{of}, at most {most} requests in one",
        f'events named "{names.steps}..."',
    )


def _backends(trace: Trace, counted: Counted, names: Names, prover: _Prover) -> Proof:
    attention, gemm = trace.named(names.attention), trace.named(names.gemm)
    ran: dict[str, Any] = {"attention_operators": attention, "gemm_operators": gemm}
    statement = f"{counted.operator} was called {counted.calls} times = {counted.words}; "
    if counted.operator not in attention:
        statement += f"inside it {_counts(attention)}; "
    if names.cache_write is not None:
        written = trace.named(names.cache_write)
        ran["cache_write_operators"] = written
        statement += f"cache writes: {_counts(written)}; "
    statement += f"products: {_counts(gemm)}{f'. {names.note}' if names.note else ''}"
    looked_for = dict.fromkeys((counted.operator, *attention, *gemm))
    return prover.proof(ran, statement, f'events named "{", ".join(looked_for)}"')


def _graphs(trace: Trace, names: Names, prover: _Prover) -> Proof:
    found = list(trace.named(names.compiled))
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


def _precision(trace: Trace, names: Names, prover: _Prover) -> Proof:
    attention = trace.inputs(names.attention, "types", _COMMONEST)
    gemm = trace.inputs(names.gemm, "types", _COMMONEST)
    return prover.proof(
        {"attention_inputs": attention, "gemm_inputs": gemm},
        f"input types of the products: {_counts(gemm)}; of attention: {_counts(attention)}. "
        "Accumulation inside a kernel is not in the trace",
        '"Input type" of attention and matrix products',
    )


def _parallel(trace: Trace, names: Names, prover: _Prover) -> Proof:
    found = list(trace.named(names.communication))
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
