"""Start and watch the processes of an execution. Each is a subprocess of its own session.

A terminal's Ctrl-C reaches only us: we forward it once and wait until the runner has sealed what there is.
The runner itself watches this process (``--watch``): if it is killed, the engine is stopped all the same.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from django.conf import settings

from assay.execution import subprocesses
from assay.execution.subprocesses import SEAL_GRACE_S, Ended


def run_to_end(
    command: Sequence[str],
    *,
    folder: Path,
    name: str,
    should_stop: Callable[[], bool] = lambda: False,
    on_tick: Callable[[], None] = lambda: None,
    grace_s: float = SEAL_GRACE_S,
    more: Mapping[str, str] = MappingProxyType({}),
) -> Ended:
    """As ``subprocesses.run_to_end``, with this installation's environment and ``more`` of it."""
    return subprocesses.run_to_end(
        command,
        folder=folder,
        name=name,
        environment={**environment(), **more},
        should_stop=should_stop,
        on_tick=on_tick,
        grace_s=grace_s,
    )


def runner(*arguments: str | Path) -> list[str]:
    return [*settings.RUNNER_COMMAND, *(str(a) for a in arguments)]


def interpreter(*arguments: str | Path) -> list[str]:
    return [*settings.INTERPRETER_COMMAND, *(str(a) for a in arguments)]


def environment() -> dict[str, str]:
    """This checkout's code, whatever else is installed."""
    return {
        **os.environ,
        "PYTHONPATH": settings.SUBPROCESS_PATH,
        "PYTHONUNBUFFERED": "1",
        "ASSAY_HOME": str(settings.HOME),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
    }
