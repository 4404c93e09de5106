"""Many runs under random faults, drawn from a seed: ``python -m tests.faults.soak FOLDER --runs 200``.

Two workers, a scheduler, a broker and a database; the runner is the fake one, which ends in every way it can.
Prints one JSON object: what was done, in which states the runs ended, and what was left that should not be.
"""

import argparse
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from runners.protocol import manifest
from tests.faults.database import TERMINAL, leftovers, states, value
from tests.faults.own_servers import OwnPostgres, OwnRedis, own_servers
from tests.faults.processes import processes_below
from tests.stacks import LEASE_S, Stack

SMOKE = ("study=smollm2_smoke", "prediction.enabled=false")
A_STUDY = 10  # runs that are submitted at once
PATIENCE_S = 120.0  # without any run ending
RUN_S = 0.6  # a run works for up to so long


@dataclass
class Soak:
    """One installation under faults; ``done`` counts what was done to it."""

    stack: Stack
    postgres: OwnPostgres
    redis: OwnRedis
    draw: random.Random
    done: Counter[str] = field(default_factory=Counter)
    submitted: list[str] = field(default_factory=list)
    kept: dict[str, Any] = field(default_factory=dict)  # processes that are always started again

    def submit(self, count: int) -> None:
        """As one study with repetitions; what the command prints is what was acknowledged."""
        told = self.stack.assay("submit", *SMOKE, f"study.repetitions={count}", "--json")
        assert told.returncode == 0, told.stderr
        self.submitted += [run["run"] for run in json.loads(told.stdout)["runs"]]

    def look_after(self) -> None:
        for name, verb in (("worker 1", "worker"), ("worker 2", "worker"), ("beat", "beat")):
            process = self.kept.get(name)
            if process is None or process.poll() is not None:
                self.kept[name] = self.stack.start(verb, "--loglevel", "WARNING")

    # Faults

    def kill_worker(self) -> None:
        self._kill(self._a_worker(), signal.SIGKILL)

    def end_worker(self) -> None:
        self._kill(self._a_worker(), signal.SIGTERM)

    def kill_beat(self) -> None:
        self._kill("beat", signal.SIGKILL)

    def freeze_worker(self) -> None:
        """Longer than its lease: it comes back with a token that is worth nothing."""
        process = self.kept[self._a_worker()]
        process.send_signal(signal.SIGSTOP)
        time.sleep(LEASE_S + 2)
        process.send_signal(signal.SIGCONT)

    def kill_runner(self) -> None:
        found = runners_below(self.stack.home)
        if found:
            self.draw.choice(found).kill()

    def stop_redis(self) -> None:
        self.redis.stop()
        time.sleep(self.draw.uniform(0, 3))
        self.redis.start()

    def stop_postgres(self) -> None:
        self.postgres.stop()
        time.sleep(self.draw.uniform(0, LEASE_S + 2))
        self.postgres.start()

    def cancel(self) -> None:
        live = self.stack.rows("SELECT id FROM ledger_run WHERE state IN ('queued', 'running')")
        if live:
            self.stack.assay("cancel", str(self.draw.choice(live)[0]))

    def _a_worker(self) -> str:
        """Three times in four the one that has a run at hand, if either has."""
        held = self.stack.rows("SELECT worker FROM execution_execution WHERE state = 'running'")
        pids = {int(worker.split("/")[-2]) for (worker,) in held}
        names = ["worker 1", "worker 2"]
        busy = [name for name in names if self.kept[name].pid in pids]
        return self.draw.choice(busy if busy and self.draw.random() < 0.75 else names)

    def _kill(self, name: str, number: signal.Signals) -> None:
        process = self.kept[name]
        if process.poll() is None:
            process.send_signal(number)
            process.wait(60)

    def say(self, what: str) -> None:
        sys.stderr.write(f"{time.strftime('%H:%M:%S')} {what} {states(self.stack)}\n")

    def fault(self) -> None:
        often: dict[Callable[[], None], int] = {
            self.kill_worker: 4,
            self.end_worker: 2,
            self.kill_beat: 1,
            self.freeze_worker: 1,
            self.kill_runner: 4,
            self.stop_redis: 2,
            self.stop_postgres: 2,
            self.cancel: 3,
        }
        chosen = self.draw.choices(list(often), list(often.values()))[0]
        self.done[chosen.__name__] += 1
        self.say(chosen.__name__)
        chosen()

    # The whole of it

    def drive(self, runs: int, fault_every_s: float, limit_s: float) -> None:
        """Until ``runs`` have ended; after ``limit_s`` no more are submitted, nor is anything broken."""
        ended, since, until = -1, time.monotonic(), time.monotonic() + limit_s
        next_fault = time.monotonic() + 3
        while True:
            self.look_after()
            now = sum(count for state, count in states(self.stack).items() if state in TERMINAL)
            is_over = time.monotonic() > until
            if now == (len(self.submitted) if is_over else runs):
                return
            if now != ended:
                ended, since = now, time.monotonic()
            if time.monotonic() - since > PATIENCE_S:
                raise TimeoutError(f"{now} of {runs} ended; {self.stack.logs()}")
            if not is_over and len(self.submitted) < runs and len(self.submitted) - now < A_STUDY:
                self.submit(min(A_STUDY, runs - len(self.submitted)))
            if not is_over and time.monotonic() > next_fault:
                self.fault()
                next_fault = time.monotonic() + self.draw.expovariate(1 / fault_every_s)
            time.sleep(0.2)

    def settle(self) -> None:
        """What was lost is swept and the dead are forgotten, then everything is told to end."""
        deadline = time.monotonic() + 60
        while not self._is_settled() and time.monotonic() < deadline:
            self.look_after()
            time.sleep(0.5)
        self.stack.stop()

    def _is_settled(self) -> bool:
        """Nothing is left, and the workers that live are those that are registered.

        One that is told to end while it still starts, or the row of one that was killed a moment ago, would
        else stay behind with nobody there to sweep it.
        """
        registered = self.stack.rows("SELECT worker FROM execution_registration")
        pids = {int(worker.split("/")[-2]) for (worker,) in registered}
        living = {self.kept[name].pid for name in ("worker 1", "worker 2")}
        return pids == living and not any(leftovers(self.stack).values())

    def report(self, took_s: float) -> dict[str, Any]:
        known = {str(row[0]) for row in self.stack.rows("SELECT id FROM ledger_run")}
        store = [p for p in (self.stack.home / "store").glob("*/*") if p.is_dir()]
        executions = self.stack.home / "executions"
        return {
            "runs": len(self.submitted),
            "took_s": round(took_s, 1),
            "faults": dict(self.done),
            "states": states(self.stack),
            "quarantined": value(self.stack, "SELECT count(*) FROM ledger_quarantined"),
            "left": {
                **leftovers(self.stack),
                "acknowledged and not there": len(set(self.submitted) - known),
                "workers registered": value(
                    self.stack, "SELECT count(*) FROM execution_registration"
                ),
                "execution folders": len(list(executions.iterdir())) if executions.is_dir() else 0,
                "bundles that do not verify": sum(not manifest.verify(p).ok for p in store),
                "bundles without a row": len(store)
                - value(self.stack, "SELECT count(*) FROM ledger_bundle"),
                "processes": len(processes_below(self.stack.home)),
            },
        }


def runners_below(home: Path) -> list[psutil.Process]:
    found = []
    for process in processes_below(home):
        try:
            if any("fake_runner.py" in word for word in process.cmdline()):
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="an empty folder for its state")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fault-every-s", type=float, default=4.0)
    parser.add_argument("--limit-s", type=float, default=3600.0, help="then it winds up")
    arguments = parser.parse_args()
    with ExitStack() as down:
        postgres, redis = down.enter_context(own_servers())
        stack = Stack(
            home=arguments.folder / "home",
            variables={
                "ASSAY_DATABASE_URL": postgres.url,
                "ASSAY_REDIS_URL": redis.url,
                "DJANGO_SETTINGS_MODULE": "tests.fake_runner_settings",
                "FAKE_RUNNER": json.dumps(
                    {"execute": "any", "seconds": RUN_S, "seed": arguments.seed}
                ),
            },
        )
        down.callback(stack.stop)
        assert stack.assay("migrate").returncode == 0
        soak = Soak(stack=stack, postgres=postgres, redis=redis, draw=random.Random(arguments.seed))
        began = time.monotonic()
        soak.drive(arguments.runs, arguments.fault_every_s, arguments.limit_s)
        soak.settle()
        found = soak.report(time.monotonic() - began)
    sys.stdout.write(json.dumps(found, indent=1) + os.linesep)
    return 1 if any(found["left"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
