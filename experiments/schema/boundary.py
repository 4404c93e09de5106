"""Config group ``boundary``: the system under test, in six fields, and the places its replies pass."""

from dataclasses import dataclass

from experiments.schema.roles import key_field, unknown_field


@dataclass
class ExternalDependency:
    """``mocked``: its variability lies outside the experiment; ``fixed_delay_s`` stands in for it."""

    name: str = key_field()
    mocked: bool = key_field(False)
    fixed_delay_s: float | None = key_field(None)


@dataclass
class Segment:
    """One stretch of the path and who answers for it. One that cannot be measured alone gets no share."""

    name: str = key_field()
    introduced_by: str = key_field()
    configured_by: str = key_field()
    upgraded_by: str = key_field()
    measurable_alone: bool = key_field()
    regression_owner: str = key_field()


@dataclass
class Hop:
    """One place that a reply passes, and what it does to the stream there.

    Null is not known, and a gap; what a hop does not do is said in words ("none").
    """

    name: str = key_field()
    response_buffering: str | None = unknown_field()
    compression: str | None = unknown_field()
    chunk_granularity: str | None = unknown_field()
    protocol_conversion: str | None = unknown_field()
    client_parsing: str | None = unknown_field()
    render_throttling: str | None = unknown_field()


@dataclass
class BoundaryConfig:
    """``hops`` are in the order in which a reply meets them, the engine's output first."""

    sut: str = key_field()
    included: list[str] = key_field(list)
    external_dependencies: list[ExternalDependency] = key_field(list)
    dependency_accounting: str = key_field()
    tool_assumption: str = key_field()
    exclusions: list[str] = key_field(list)
    # for engine, gateway and client each: response buffering, compression, chunk granularity
    buffering: dict[str, str] = key_field(dict)
    segments: list[Segment] = key_field(list)
    hops: list[Hop] = key_field(list)
