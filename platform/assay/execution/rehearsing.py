"""Whether a declaration could start on this machine, asked for a page: pins, environment, plan, disk.

It is the first step of the run itself, carried out and thrown away. What was found is remembered for a short
while, so that looking and then launching prepares once. It is not done while a run is measured here: hashing
files and counting tokens would take its cores.
"""

import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.conf import settings

from assay.archive.paths import Home
from assay.execution import preparing
from assay.execution.models import Execution, ExecutionState
from assay.execution.preparing import Prepared
from experiments.errors import Finding
from experiments.plan import RunSpec

REMEMBERED_S = 120.0
REMEMBERED = 32
LIMIT_S = 60.0
MOST = 8  # different pins looked at for one page; the rest are checked when they start


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """``prepared`` are the declarations that were looked at; ``skipped`` says why none or not all were."""

    prepared: tuple[Prepared, ...]
    skipped: str = ""

    @property
    def refused(self) -> Prepared | None:
        return next((p for p in self.prepared if p.exit_code != 0), None)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Why it could not start here; a preparation that broke down is told as one."""
        refused = self.refused
        if refused is None or refused.findings:
            return refused.findings if refused else ()
        broke_down = Finding(
            field="prepare",
            seen=f"exit code {refused.exit_code}",
            allowed="0",
            remedy=refused.log_tail or "It said nothing.",
        )
        return (broke_down,)


@dataclass
class _Memory:
    """What was found lately, by spec digest."""

    found: dict[str, tuple[float, Prepared]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, digest: str) -> Prepared | None:
        with self.lock:
            when, prepared = self.found.get(digest, (0.0, None))
            return prepared if time.monotonic() - when < REMEMBERED_S else None

    def put(self, digest: str, prepared: Prepared) -> None:
        with self.lock:
            self.found[digest] = (time.monotonic(), prepared)
            while len(self.found) > REMEMBERED:
                self.found.pop(next(iter(self.found)))


_memory = _Memory()
_one_at_a_time = threading.Lock()


ELSEWHERE = "the workers are other machines: each verifies pins and environment before it launches"
MEASURING = "a run goes on this machine; pins and environment are verified when this one starts"


def look(specs: Sequence[RunSpec]) -> Look:
    """Prepare one declaration for each different set of pins, as far as that may be done now."""
    if settings.REDIS_URL is not None:
        return Look(prepared=(), skipped=ELSEWHERE)
    home = Home(settings.HOME)
    chosen = representatives(specs)
    if any(_memory.get(spec.digest) is None for spec in chosen) and measuring_here():
        return Look(prepared=(), skipped=MEASURING)
    deadline = time.monotonic() + LIMIT_S
    prepared: list[Prepared] = []
    for spec in chosen[:MOST]:
        if time.monotonic() > deadline:
            break
        found = _prepared(spec, runs=len(specs), home=home, deadline=deadline)
        if found.interrupted:
            break
        prepared.append(found)
        if found.exit_code != 0:
            break
    left = len(chosen) - len(prepared)
    skipped = f"{left} further sets of pins are verified when their runs start" if left else ""
    return Look(prepared=tuple(prepared), skipped=skipped)


def measuring_here() -> bool:
    """Whether an execution of this machine goes on."""
    here = Execution.objects.filter(worker__startswith=f"{socket.gethostname()}/")
    return here.filter(state=ExecutionState.running).exists()


def representatives(specs: Sequence[RunSpec]) -> list[RunSpec]:
    """The first run of each different artifact, engine and device."""
    first: dict[str, RunSpec] = {}
    for spec in specs:
        document = spec.document
        engine = {name: document["engine"][name] for name in ("key", "version", "environment")}
        first.setdefault(repr((document["artifact"], engine, document["device"])), spec)
    return list(first.values())


def _prepared(spec: RunSpec, *, runs: int, home: Home, deadline: float) -> Prepared:
    with _one_at_a_time:
        if (known := _memory.get(spec.digest)) is not None:
            return known
        found = preparing.rehearse(
            spec.document,
            spec.digest,
            runs=runs,
            home=home,
            should_stop=lambda: time.monotonic() > deadline,
        )
        if not found.interrupted:
            _memory.put(spec.digest, found)
        return found
