"""Config group ``boundary``: the system under test, in six fields."""

from dataclasses import dataclass

from experiments.schema.roles import key_field


@dataclass
class ExternalDependency:
    """``mocked``: its variability lies outside the experiment; ``fixed_delay_s`` stands in for it."""

    name: str = key_field()
    mocked: bool = key_field(False)
    fixed_delay_s: float | None = key_field(None)


@dataclass
class BoundaryConfig:
    sut: str = key_field()
    included: list[str] = key_field(list)
    external_dependencies: list[ExternalDependency] = key_field(list)
    dependency_accounting: str = key_field()
    tool_assumption: str = key_field()
    exclusions: list[str] = key_field(list)
    # for engine, gateway and client each: response buffering, compression, chunk granularity
    buffering: dict[str, str] = key_field(dict)
