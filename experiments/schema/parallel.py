"""How one engine is spread over its devices, by kind; 1 means not in use."""

from dataclasses import dataclass

from experiments.schema.roles import variable_field


@dataclass
class Parallel:
    """``data * tensor * pipeline`` devices; experts are spread over ``expert`` of ``data * tensor``."""

    data: int = variable_field(1)
    tensor: int = variable_field(1)
    pipeline: int = variable_field(1)
    expert: int = variable_field(1)


# What each kind is known to be limited by: said beside every result that used it.
KNOWN_LIMITS = {
    "data": "each replica must hold the model and its state; load may lie unevenly on replicas",
    "tensor": "collectives in every layer; KV heads are replicated beyond their number",
    "pipeline": "bubbles while stages wait; the slowest stage sets the pace",
    "expert": "dispatch and combine between devices; load follows the routing of experts",
}
