"""A made scan: steps of a machine whose parameters are known, so that a fit can be held against them."""

import random
from collections.abc import Mapping, Sequence

from assay.analysis.calibration import Identity
from assay.analysis.fitting.fit import Scan
from assay.analysis.fitting.points import Shape, Step
from assay.analysis.fitting.split import Split
from assay.analysis.forecast.parameters import Known, measured_parameters
from assay.analysis.forecast.terms import (
    PROMPT_MASK,
    SAMPLED_ROW,
    STATE_VIEW,
    STEP_OVERHEAD,
    Executed,
    step_terms,
)
from assay.analysis.perfmodel.precision import plain
from assay.analysis.perfmodel.quantization.weight_formats import uniform
from assay.analysis.step_spread import DECODE, PROMPT
from tests.assay.analysis import benchmarks
from tests.assay.analysis.perfmodel.structures import SMOLLM2

EXECUTED = Executed(
    structure=SMOLLM2,
    formats=uniform(plain("float32", field="dtype")),
    dtype="float32",
    kv_dtype="float32",
)
IDENTITY = Identity(
    host_fingerprint="0123456789abcdef",
    engine="torch",
    engine_version="2.13.0",
    artifact="a" * 64,
    settings={"threads": 2},
)
# What the made machine has beyond its micro-benchmark.
TRUE = {STEP_OVERHEAD: 12e-3, SAMPLED_ROW: 1.5e-3, STATE_VIEW: 4e-10, PROMPT_MASK: 6e-12}
CELLS = {  # name -> (batch, stored tokens before the first decoded one)
    "64 in, 1 at once": (1, 64),
    "64 in, 2 at once": (2, 64),
    "64 in, 4 at once": (4, 64),
    "64 in, 6 at once": (6, 64),
    "64 in, 8 at once": (8, 64),
    "256 in, 1 at once": (1, 256),
    "512 in, 1 at once": (1, 512),
    "1024 in, 1 at once": (1, 1024),
    "2048 in, 1 at once": (1, 2048),
}
HELD_OUT = ("64 in, 4 at once", "512 in, 1 at once")


def known() -> Known:
    return measured_parameters([benchmarks.document()], dtype="float32", threads=2)


def true_seconds(shape: Shape, values: Mapping[str, float] = TRUE, *, factor: float = 1.0) -> float:
    """Time of a step on the made machine: the micro-benchmark's figures, and ``values`` for the rest."""
    times = known().times
    assert times is not None
    amounts = step_terms(EXECUTED, shape.sequences(), sampled=shape.sampled, knots=times.knots)
    return factor * sum(values.get(n, times.values[n].value) * a for n, a in amounts.items())


def steps(
    *,
    cells: Sequence[str] = tuple(CELLS),
    noise: float = 0.0,
    factor: float = 1.0,
    values: Mapping[str, float] = TRUE,
) -> list[Step]:
    """Prompts in pieces of 256 tokens and 24 decode steps for each cell."""
    draw = random.Random(3)
    found = []
    for cell in cells:
        batch, stored = CELLS[cell]
        chunks = [(at, min(256, stored - at)) for at in range(0, stored, 256)]
        shapes = [
            Shape(phase=PROMPT, batch=1, new=new, stored=at, sampled=int(at + new == stored))
            for at, new in chunks
        ]
        shapes += [
            Shape(phase=DECODE, batch=batch, new=1, stored=stored + n, sampled=batch)
            for n in range(24)
        ]
        found += [
            Step(
                id=f"step {number}",
                cell=cell,
                shape=shape,
                measured_s=true_seconds(shape, values, factor=factor) * draw.gauss(1, noise),
            )
            for number, shape in enumerate(shapes)
        ]
    return found


def scan(found: Sequence[Step], held_out: Sequence[str] = HELD_OUT) -> Scan:
    names = tuple(dict.fromkeys(s.cell for s in found))
    return Scan(
        steps=found,
        split=Split(
            rule="declared: made",
            fitted=tuple(n for n in names if n not in held_out),
            held_out=tuple(held_out),
        ),
        runs=[{"bundle": "b" * 64, "cell": name} for name in names],
        identity=IDENTITY,
        benchmark="host 0123456789abcdef",
        made_at="2026-11-30T12:00:00Z",
    )
