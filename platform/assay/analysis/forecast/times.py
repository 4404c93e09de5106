"""Predicted times: steps of the model loop, and what the client sees of a request.

A client-side time is a sum of steps plus the front end. In a closed loop a new prompt joins the decoding of
the others; queueing before admission in an open loop is not modelled, so nothing is estimated there.
"""

from dataclasses import dataclass
from typing import Any

from assay.analysis.calibration import EXTRAPOLATED, Calibration
from assay.analysis.devices.machine import ZERO, Interval
from assay.analysis.forecast import assumed
from assay.analysis.forecast.parameters import Known
from assay.analysis.forecast.rows import CLIENT, ENGINE_LOOP, TIME, range_row
from assay.analysis.forecast.shapes import RequestShape, RunShape
from assay.analysis.forecast.terms import Executed
from assay.analysis.perfmodel.operators import SequenceStep, decode_sequences
from runners.protocol.documents import Prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A time as bound and estimate; either may be unknown."""

    bound: float | None
    estimate: Interval | None

    def plus(self, other: "Span") -> "Span":
        return Span(
            bound=None if None in (self.bound, other.bound) else _sum(self.bound, other.bound),
            estimate=None
            if self.estimate is None or other.estimate is None
            else self.estimate + other.estimate,
        )

    def times(self, factor: float) -> "Span":
        return Span(
            bound=None if self.bound is None else self.bound * factor,
            estimate=None if self.estimate is None else self.estimate.times(factor),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Times of steps under the parameters that are known."""

    executed: Executed
    known: Known
    token_budget: (
        int | None
    )  # None: not declared; one step takes all, which bounds any cut into chunks

    def step(self, sequences: list[SequenceStep], *, sampled: int) -> Span:
        known = self.known
        operators = self.executed.operators(sequences, sampled=sampled)
        return Span(
            bound=known.roofs.bound(operators).seconds if known.roofs else None,
            estimate=known.times.estimate(self.executed, sequences, sampled=sampled)
            if known.times
            else None,
        )

    def decode(self, *, batch: int, context: int) -> Span:
        return self.step(decode_sequences(batch=batch, context=context), sampled=batch)

    def prompt(self, tokens: int, *, beside: int, context: int) -> Span:
        """Steps that take ``tokens`` new tokens in chunks, each with ``beside`` decoding sequences."""
        total: Span | None = None
        stored = 0
        while stored < tokens:
            room = max(1, (self.token_budget or tokens + beside) - beside)
            new = min(room, tokens - stored)
            last = stored + new == tokens
            chunk = SequenceStep(new=new, stored=stored)
            decoding = decode_sequences(batch=beside, context=context)
            step = self.step([*decoding, chunk], sampled=beside + int(last))
            total = step if total is None else total.plus(step)
            stored += new
        return total or Span(bound=0.0, estimate=ZERO)


def time_rows(
    clock: Clock, shape: RunShape, *, coverage: float, calibration: Calibration | None
) -> list[Prediction]:
    """Decode steps by shape and batch, prompt times, TTFT, TPOT and time to the last token.

    Where requests follow one another only the steps: nothing has the mean request's shape.
    """
    maker = _Maker(clock=clock, coverage=coverage, calibration=calibration)
    together = shape.sequences
    most = together or shape.engine.max_batch or 1
    steps = [maker.decode_step(shape.load, batch=batch) for batch in range(1, most + 1)]
    if shape.follows:
        return steps
    rows = [row for case in shape.cases for row in _alone(maker, case)]
    rows += steps
    if together is not None:
        rows += _closed(maker, shape.load, together=together)
    else:
        prompt = clock.prompt(shape.load.input_tokens, beside=0, context=0)
        rows.append(maker.ttft(shape.load, Span(bound=prompt.bound, estimate=None)))
    return rows


def _alone(maker: "_Maker", case: RequestShape) -> list[Prediction]:
    clock = maker.clock
    prompt = clock.prompt(case.input_tokens, beside=0, context=0)
    step = clock.decode(batch=1, context=case.mean_context)
    first = prompt.plus(maker.front())
    rows = [
        maker.decode_step(case, batch=1),
        maker.prompt_time(case, prompt),
        maker.ttft(case, first),
    ]
    if case.produced > 1:
        rows.append(maker.tpot(case, step))
        if not case.cancelled:
            rows.append(maker.last_token(case, first.plus(step.times(case.produced - 1))))
    return rows


def _closed(maker: "_Maker", load: RequestShape, *, together: int) -> list[Prediction]:
    """Times of one request among ``together`` in a closed loop.

    A prompt joins ``together - 1`` decoding sequences after half a step of waiting on average; the range
    reaches from a prompt that runs alone to all of them starting at once, as the first ones do. While a
    request decodes, each of the others begins one prompt.
    """
    clock, others, context = maker.clock, together - 1, load.mean_context
    joined = clock.prompt(load.input_tokens, beside=others, context=context)
    alone = clock.prompt(load.input_tokens, beside=0, context=0)
    at_once = alone.times(together)
    step = clock.decode(batch=together, context=context)
    first = joined.plus(maker.front()).plus(Span(bound=0.0, estimate=step.times(0.5).estimate))
    wide = Span(
        bound=alone.bound,
        estimate=_widened(
            first.estimate,
            low=alone.plus(maker.front()).estimate,
            high=at_once.plus(maker.front()).estimate,
        ),
    )
    rows = [maker.ttft(load, wide)]
    if others and load.input_tokens > 1:
        rows.append(maker.mixed_step(load, batch=together, span=joined))
    if load.produced > 1:
        steps = load.produced - 1
        busy = Span(bound=clock.decode(batch=1, context=context).bound, estimate=step.estimate)
        extra = joined.estimate.times(others / steps) if joined.estimate else None
        per_token = Span(
            bound=busy.bound,
            estimate=None if busy.estimate is None or extra is None else busy.estimate + extra,
        )
        rows.append(maker.tpot(load, per_token))
        rows.append(maker.last_token(load, wide.plus(per_token.times(steps))))
    return rows


def _widened(
    value: Interval | None, *, low: Interval | None, high: Interval | None
) -> Interval | None:
    if value is None or low is None or high is None:
        return None
    return Interval(value=value.value, low=min(value.low, low.low), high=max(value.high, high.high))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Maker:
    """Turns spans into rows with the forecast's coverage, parameters and validity."""

    clock: Clock
    coverage: float
    calibration: Calibration | None

    def front(self) -> Span:
        return Span(bound=0.0, estimate=assumed.assumed(assumed.FRONT))

    def decode_step(self, request: RequestShape, *, batch: int) -> Prediction:
        context = request.mean_context
        conditions: dict[str, Any] = {
            **request.conditions(),
            "phase": "decode",
            "batch": batch,
            "context_tokens": context,
        }
        return self._row(
            "decode_step", self.clock.decode(batch=batch, context=context), ENGINE_LOOP, conditions,
            "a median step of this batch and context outside the range in the engine's record",
            validity=self._decode_validity(batch=batch, context=context),
        )  # fmt: skip

    def mixed_step(self, request: RequestShape, *, batch: int, span: Span) -> Prediction:
        conditions = {**request.conditions(), "phase": "mixed", "batch": batch}
        return self._row(
            "mixed_step", span, ENGINE_LOOP, conditions,
            "a median step that runs one whole prompt beside the decoding ones outside the range",
        )  # fmt: skip

    def prompt_time(self, request: RequestShape, span: Span) -> Prediction:
        return self._row(
            "prompt_time", span, ENGINE_LOOP, request.conditions(),
            "another time from admission to first token in the engine's record",
            validity=self._prompt_validity(request),
        )  # fmt: skip

    def ttft(self, request: RequestShape, span: Span) -> Prediction:
        return self._row(
            "ttft", span, CLIENT, request.conditions(),
            "a median time from the last request byte to the first content event outside the range",
            extra=(assumed.FRONT,),
        )  # fmt: skip

    def tpot(self, request: RequestShape, span: Span) -> Prediction:
        return self._row(
            "tpot", span, CLIENT, request.conditions(),
            "a median of (last - first token) / (tokens - 1) outside the range",
        )  # fmt: skip

    def last_token(self, request: RequestShape, span: Span) -> Prediction:
        return self._row(
            "time_to_last_token", span, CLIENT, request.conditions(),
            "a median time from the last request byte to the last token outside the range",
            extra=(assumed.FRONT,),
        )  # fmt: skip

    def _decode_validity(self, *, batch: int, context: int) -> str:
        if self.calibration is None:
            return EXTRAPOLATED
        return self.calibration.decode_validity(batch=batch, context=context)

    def _prompt_validity(self, request: RequestShape) -> str:
        if self.calibration is None:
            return EXTRAPOLATED
        chunk = min(request.input_tokens, self.clock.token_budget or request.input_tokens)
        return self.calibration.prompt_validity(chunk=chunk, end=request.input_tokens)

    def _row(
        self,
        quantity: str,
        span: Span,
        layer: str,
        conditions: dict[str, Any],
        overturned_by: str,
        *,
        validity: str = EXTRAPOLATED,
        extra: tuple[str, ...] = (),
    ) -> Prediction:
        known = self.clock.known
        names = list(known.bound_names) if span.bound is not None else []
        if span.estimate is not None:
            names += [*known.estimate_names, *extra]
        return range_row(
            quantity,
            TIME,
            span.estimate,
            "s",
            bound=span.bound,
            coverage=self.coverage,
            layer=layer,
            memory_level=known.roofs.bandwidth.memory_level if known.roofs else None,
            conditions=conditions,
            validity=validity,
            parameters=names,
            overturned_by=overturned_by,
        )


def _sum(a: float | None, b: float | None) -> float:
    return (a or 0.0) + (b or 0.0)
