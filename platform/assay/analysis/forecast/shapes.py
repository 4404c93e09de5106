"""What a frozen RunSpec says of the engine's limits and of the requests it will get."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.analysis.forecast.engine_limits import EngineLimits, engine_limits
from assay.analysis.perfmodel.errors import ModelRefused
from runners.protocol.errors import Finding

SINGLE_TURN = "single_turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestShape:
    """One kind of request. ``produced`` is how many tokens it gets before it ends or is cancelled."""

    segment: str
    case: str | None
    input_tokens: int
    output_tokens: int
    produced: int
    cancelled: bool
    requests: int

    @property
    def mean_context(self) -> int:
        """Stored tokens half-way through the answer."""
        return self.input_tokens + self.produced // 2

    def conditions(self) -> dict[str, Any]:
        named = {} if self.case is None else {"case": self.case}
        return {
            "segment": self.segment,
            **named,
            "input_tokens": self.input_tokens,
            "output_tokens": self.produced,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunShape:
    """The requests of a run and how they arrive: ``concurrency`` in a closed loop, else ``rate_per_s``.

    Where requests follow one another (``structure`` other than single turns) the load's shape is the mean of
    its requests: it bounds a step of theirs, not the whole of one.
    """

    engine: EngineLimits
    cases: tuple[RequestShape, ...]
    load: RequestShape
    structure: str
    kind: str
    concurrency: int | None
    rate_per_s: float | None

    @property
    def sequences(self) -> int | None:
        """Sequences that decode together at most; None in an open loop, where it depends on the times."""
        if self.concurrency is None:
            return None
        most = self.engine.max_batch or self.concurrency
        return min(self.concurrency, self.load.requests, most)

    @property
    def follows(self) -> bool:
        """Whether requests follow one another, so that no single one has the load's mean shape."""
        return self.structure != SINGLE_TURN


def read_run_shape(spec: Mapping[str, Any], plan: Mapping[str, Any]) -> RunShape:
    """Shapes from the spec; token counts of the load from the plan's summary where it is given.

    Raises ModelRefused for calls that produce no tokens and for an engine that runs no model.
    """
    call_type = str(spec["workload"].get("call_type", "generation"))
    if call_type != "generation":
        raise ModelRefused(
            Finding(
                field="workload.call_type",
                seen=call_type,
                allowed="generation",
                remedy="No prediction is registered for calls that produce no tokens yet.",
            )
        )
    load = spec["load"]
    return RunShape(
        engine=engine_limits(spec["engine"]),
        cases=tuple(_case(case) for case in spec["workload"].get("cases") or ()),
        load=_load(spec["workload"], plan.get("load")),
        structure=str(spec["workload"].get("structure", SINGLE_TURN)),
        kind=str(load["kind"]),
        concurrency=load.get("concurrency"),
        rate_per_s=load.get("rate_per_s"),
    )


def _case(case: Mapping[str, Any]) -> RequestShape:
    cancel = case.get("cancel") or {}
    chunks = cancel.get("after_chunks")
    output = int(case["output_tokens"])
    return RequestShape(
        segment="cases",
        case=str(case["name"]),
        input_tokens=int(case["input_tokens"]),
        output_tokens=output,
        produced=output if chunks is None else min(output, int(chunks)),
        cancelled=bool(cancel),
        requests=1,
    )


def _load(workload: Mapping[str, Any], planned: Mapping[str, Any] | None) -> RequestShape:
    """The load's mean shape: from the plan when it was materialised, else as declared."""
    requests = int(planned["requests"] if planned else workload["requests"])
    input_tokens, output_tokens = int(workload["input_tokens"]), int(workload["output_tokens"])
    if planned and requests:
        input_tokens = round(planned["input_tokens"] / requests)
        output_tokens = round(planned["output_tokens"] / requests)
    return RequestShape(
        segment="load",
        case=None,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        produced=output_tokens,
        cancelled=False,
        requests=requests,
    )
