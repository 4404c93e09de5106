"""End every container of an execution, and look whether any is left. Standard library only, as the keeper is.

Docker's containers are no children of whoever asked for them: they live on when the command, the keeper and
the runner are killed. The label says whose they are; no other container is ever touched.
"""

import time
from collections.abc import Callable, Sequence

from runners.environments import docker

_GONE_S = 5.0  # ``--rm`` takes a moment after the end
Call = Callable[[Sequence[str], float], None]  # run docker with these words, for so long at most
Note = Callable[..., None]


def left(cli: str, execution_id: str, note: Note) -> list[str] | None:
    """Identifiers of what is left; None, and a note, where docker does not answer."""
    try:
        return docker.of_execution(cli, execution_id)
    except docker.DockerProblem as problem:
        note("docker", problem=str(problem))
        return None


def end(
    cli: str,
    execution_id: str,
    *,
    patience_s: float,
    call: Call,
    wait: Callable[[float], None],
    note: Note,
) -> list[str] | None:
    """Stop them, then kill, then remove, until none is left. Returns what is, as ``left`` does."""
    there = left(cli, execution_id, note)
    for step in range(docker.STEPS):
        if not there:
            break
        words = docker.endings(there, patience_s=patience_s)[step]
        note("container", command=words)
        call(words, patience_s + _GONE_S)
        deadline = time.monotonic() + _GONE_S
        while (there := left(cli, execution_id, note)) and time.monotonic() < deadline:
            wait(0.1)
    return there
