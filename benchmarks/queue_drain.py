"""What a run costs in the queue, and whether that grows with how many wait.

``python benchmarks/queue_drain.py`` drains 100, 1,000 and 10,000 queued runs through the real dispatcher on
SQLite and on a real PostgreSQL. Every step is the platform's own (sweep, claim, device lease, heartbeat's
write, end); only the run itself is left out. Figures are of this machine; the ratio should stay near 1.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SIZES = (100, 1_000, 10_000)
A_STUDY = 500
WAITS_BESIDE = 4  # needs that nobody here can meet, their runs at the front of the queue


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), nargs="+")
    parser.add_argument("--drain", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.drain is not None:
        print(json.dumps(drain(arguments.drain)))
        return 0
    for database in arguments.database or ("sqlite", "postgresql"):
        found = [measured(database, size) for size in arguments.sizes]
        least = found[0]["drain_ms_per_run"]
        for one in found:
            one["ratio"] = round(one["drain_ms_per_run"] / least, 2)
            print(json.dumps({"database": database, **one}), flush=True)
    return 0


def measured(database: str, size: int) -> dict[str, Any]:
    """In a process of its own, on an empty database."""
    with tempfile.TemporaryDirectory(prefix="assay-queue-") as home:
        environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")},
            "PYTHONPATH": f"{ROOT / 'platform'}:{ROOT}",
            "DJANGO_SETTINGS_MODULE": "assay.settings",
            "ASSAY_HOME": home,
        }
        if database == "sqlite":
            return _child(size, environment)
        from tests import servers

        servers.name_this_run()
        try:
            with servers.postgres_database() as url:
                return _child(size, {**environment, "ASSAY_DATABASE_URL": url})
        finally:
            servers.stop_all()


def _child(size: int, environment: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(Path(__file__)), "--drain", str(size)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def drain(size: int) -> dict[str, Any]:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    from assay.archive.paths import home_from_environment
    from assay.execution import reaper, registration, work
    from assay.execution.machine import this_worker
    from assay.execution.waiting import waiting
    from assay.ledger.models import Run
    from tests.assay.specs import offered, queued_study

    home, worker, offer = home_from_environment(), this_worker(), offered()
    registration.register(worker, offer)
    began = time.perf_counter()
    for number in range(WAITS_BESIDE):
        queued_study(size // 10 // WAITS_BESIDE, name=f"no device {number}", kind="cuda")
    for start in range(0, size, A_STUDY):
        queued_study(min(A_STUDY, size - start), name=f"study {start}")
    queued = time.perf_counter()

    looks = _timed(lambda: waiting(list(Run.objects.filter(state="queued").order_by("-id")[:25])))
    polls = _timed(work.queues_with_work)
    reaps = _timed(reaper.expire)
    work.perform = _nothing_to_do  # type: ignore[assignment]
    began_draining = time.perf_counter()
    outcomes = work.work_off(worker, home, offer=offer)
    took = time.perf_counter() - began_draining
    assert len(outcomes) == size, len(outcomes)
    return {
        "queued": size,
        "queue_ms_per_run": round((queued - began) / size * 1e3, 3),
        "drain_ms_per_run": round(took / size * 1e3, 3),
        "page_of_waiting_ms": looks,
        "poll_ms": polls,
        "reap_ms": reaps,
    }


def _nothing_to_do(claim: Any, _home: Any, **_named: Any) -> Any:
    """What ``perform`` writes to the database for a run that ends before its launch."""
    from assay.execution import leases, services
    from assay.execution.procedure import Outcome
    from runners.protocol.events import RunState

    leases.renew(claim, progress={"phase": "measure", "done": 1, "total": 2})
    services.finish_unlaunched(claim, state=RunState.failed, reason="nothing to do", exit_code=1)
    return Outcome(state=RunState.failed, exit_code=1)


def _timed(ask: Any) -> float:
    """The median of nine, in ms."""
    times = []
    for _ in range(9):
        began = time.perf_counter()
        ask()
        times.append(time.perf_counter() - began)
    return round(sorted(times)[4] * 1e3, 2)


if __name__ == "__main__":
    sys.exit(main())
