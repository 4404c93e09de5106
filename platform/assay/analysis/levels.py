"""The resource level that limits what each side of a run shows."""

from dataclasses import dataclass

from runners.protocol.events import ResourceLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """An E0 archive stays E0 whatever its events say."""

    client: str = ResourceLimit.E1.value
    server: str = ResourceLimit.E2.value
