"""torch.profiler in the loop process, started and stopped between two steps.

Writes ``<id>.trace.json.gz`` (Chrome trace, with input shapes and types) and ``<id>.summary.json`` beside it.
"""

import gzip
import json
import shutil
import time
from pathlib import Path
from typing import Any

import torch

from runners.engines.torch import attention


class ProfilerProblem(Exception):
    """Start while running, stop while not; the message says which."""


class Profiler:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._active: torch.profiler.profile | None = None
        self._started_ns = 0
        self._taken = 0

    def start(self) -> None:
        if self._active is not None:
            raise ProfilerProblem("a profile is being taken; stop it first")
        self._active = torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True
        )
        attention.set_tracing(True)
        self._active.start()
        self._started_ns = time.monotonic_ns()

    def stop(self) -> dict[str, Any]:
        """End the profile and write its files. Returns their names and the operators' calls and times."""
        if self._active is None:
            raise ProfilerProblem("no profile is being taken; start one first")
        profile, self._active = self._active, None
        profile.stop()
        attention.set_tracing(False)
        ended_ns = time.monotonic_ns()
        self._taken += 1
        identifier = f"torch-{self._taken:02d}"
        self._folder.mkdir(parents=True, exist_ok=True)
        trace = self._folder / f"{identifier}.trace.json.gz"
        _export(profile, trace)
        summary = {
            "trace": trace.name,
            "bytes": trace.stat().st_size,
            "start_ns": self._started_ns,
            "end_ns": ended_ns,
            "operators": _operators(profile),
        }
        path = self._folder / f"{identifier}.summary.json"
        path.write_text(json.dumps(summary, indent=1), encoding="utf-8")
        return summary | {"summary": path.name}


def _export(profile: torch.profiler.profile, path: Path) -> None:
    plain = path.with_suffix("")  # the exporter writes plain JSON; the bundle keeps it compressed
    profile.export_chrome_trace(str(plain))
    with plain.open("rb") as source, gzip.open(path, "wb", compresslevel=6) as target:
        shutil.copyfileobj(source, target)
    plain.unlink()


def _operators(profile: torch.profiler.profile) -> dict[str, dict[str, float]]:
    """Operator -> calls, total and self time in seconds. Times inside a profile carry its overhead."""
    return {
        event.key: {
            "calls": event.count,
            "total_s": event.cpu_time_total / 1e6,
            "self_s": event.self_cpu_time_total / 1e6,
        }
        for event in profile.key_averages()
    }
