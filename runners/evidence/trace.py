"""Ask the engine for a trace of the profile phase, and look whether one was really written.

A stop can answer 200 and have failed, so only files count. Latency is never taken from this phase.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runners.evidence import endpoint
from runners.protocol import layout
from runners.protocol.documents import Gap

Call = tuple[str, str, Mapping[str, Any]]  # method, path, JSON body
_START_S, _STOP_S = 60.0, 180.0  # a stop blocks until the file is written


async def call(base_url: str, request: Call, *, is_stop: bool) -> str | None:
    """Send one profiler request; None if it was accepted, else what came instead."""
    method, path, body = request
    reply = await asyncio.to_thread(
        endpoint.ask,
        base_url,
        path,
        method=method,
        body=body,
        timeout_s=_STOP_S if is_stop else _START_S,
    )
    if reply.ok:
        return None
    return f"{method} {path}: {reply.error or f'status {reply.status}'}"


def files(bundle: Path) -> list[str]:
    """Trace files that hold something, as bundle paths."""
    folder = bundle / layout.TRACE_FOLDER
    found = (p for p in folder.rglob("*") if p.is_file() and p.stat().st_size > 0)
    return sorted(p.relative_to(bundle).as_posix() for p in found)


def gap(why: str) -> Gap:
    return Gap(
        what=f"no trace of this run: {why}",
        affects="which kernels ran, how often, and the precision path (evidence strength trace)",
        needed="a profile phase whose trace is written",
        state="open",
    )
