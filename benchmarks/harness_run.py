"""Run the harness, with each new process of a client seen at the next sample (0.1 to 0.2 s).

``harness/client_bench.py`` is kept as it came. It looks for new processes every 1.6 s, because a look at all
of /proc costs the shared machine too much; what a process took until it is found falls into whatever goes on
by then, so that the start of a client is counted to the load when its first request leaves early. The kernel
lists the children of a process by itself (``/proc/PID/task/TID/children``), which costs next to nothing.

    python benchmarks/harness_run.py run --out DIR ...      # arguments of client_bench.py
"""

import contextlib
import importlib.util
import io
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from child_processes import children

HARNESS = Path(__file__).resolve().parent / "harness" / "client_bench.py"


def harness() -> ModuleType:
    """The module of the harness, which runs its command line as it is loaded: one that it refuses, here."""
    spec = importlib.util.spec_from_file_location("client_bench", HARNESS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    arguments, sys.argv = sys.argv, [str(HARNESS)]
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
            spec.loader.exec_module(module)
    finally:
        sys.argv = arguments
    return module


def main() -> None:
    module = harness()

    class Sampler(module.Sampler):  # type: ignore[misc, name-defined]
        cpu: dict[int, float]

        def quick(self) -> Any:
            known = list(self.cpu)
            while known:
                for child in children(known.pop()):
                    if child not in self.cpu:
                        self.cpu[child] = 0.0
                        known.append(child)
            return super().quick()

    module.Sampler = Sampler
    module.main()


if __name__ == "__main__":
    main()
