"""How many files this process may have open: every connection of a load is one."""

import resource

from runners.protocol.errors import EnvironmentLacks, Finding

_SPARE_FILES = 64


def raise_limit() -> int:
    """Raise this process's soft limit of open files to the hard one; returns the limit now in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def check_room_for(connections: int) -> None:
    """Raises EnvironmentLacks if so many connections cannot be open at once."""
    limit = raise_limit()
    if connections + _SPARE_FILES > limit:
        raise EnvironmentLacks(
            Finding(
                field="load.concurrency",
                seen=f"{connections} connections, {limit} open files allowed",
                allowed=f"at most {limit - _SPARE_FILES} here",
                remedy="ulimit -Hn: raise the hard limit of open files.",
            )
        )
