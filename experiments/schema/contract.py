"""Config group ``contract``: the task contract, stored before the run; it alone judges tasks."""

from dataclasses import dataclass

from experiments.schema.roles import context_field, key_field


@dataclass
class ServiceLevel:
    """Goodput counts a request if it holds both; the denominator is offered requests."""

    ttft_s: float | None = key_field(None)
    tpot_s: float | None = key_field(None)


@dataclass
class ContractConfig:
    name: str = context_field()
    deadline_s: float | None = key_field(None)
    required_branches: int = key_field(1)
    all_branches_required: bool = key_field(True)
    degradation: str = key_field("none")  # none | partial
    retry_allowed: bool = key_field(False)
    success: str = key_field("completed")  # the client state an attempt must reach
    slo: ServiceLevel = key_field(ServiceLevel)
