"""Assay's own processes on a stack, as a person starts them: used by the worker and fault tests."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

CHECKOUT = Path(__file__).resolve().parents[1]
LEASE_S = 4.0


@dataclass
class Stack:
    """One installation: its environment variables, and the processes started on it."""

    home: Path
    variables: dict[str, str]
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("ASSAY_", "DJANGO_"))}
        return {
            **kept,
            "PYTHONPATH": f"{CHECKOUT / 'platform'}:{CHECKOUT}",
            "ASSAY_HOME": str(self.home),
            "ASSAY_LEASE_S": str(LEASE_S),
            "ASSAY_HEARTBEAT_S": "0.5",
            "ASSAY_POLL_S": "0.5",
            **self.variables,
        }

    def assay(self, *arguments: str, timeout: float = 120.0) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-P", "-m", "assay.cli.main", *arguments],
            cwd=self.home.parent,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        log = (self.home.parent / f"{arguments[0]}-{len(self.started)}.log").open("wb")
        with log:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "assay.cli.main", *arguments],
                cwd=self.home.parent,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.started.append(process)
        return process

    def submit(self, *overrides: str) -> str:
        done = self.assay("submit", *overrides, "--json")
        assert done.returncode == 0, done.stderr
        return str(json.loads(done.stdout)["runs"][0]["run"])

    def show(self, run: str) -> dict[str, Any]:
        done = self.assay("show", run, "--json")
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return rows_of(self.home, self.variables, query)

    def state(self, run: str) -> str:
        """Read from the database: a process of ``assay show`` takes a second of the processor."""
        on_postgresql = "ASSAY_DATABASE_URL" in self.variables
        key = UUID(run) if on_postgresql else UUID(run).hex  # as Django writes it
        [[found]] = self.rows(f"SELECT state FROM ledger_run WHERE id = '{key}'")
        return str(found)

    def wait_for_state(self, run: str, *states: str, seconds: float) -> dict[str, Any]:
        """As the database has it; that a worker is lost is noticed by whoever looks, so somebody has to."""
        deadline = time.monotonic() + seconds
        while (found := self.state(run)) not in states:
            assert time.monotonic() < deadline, f"{found}; {self.logs()}"
            if "lost" in states:
                self.show(run)
            time.sleep(0.2)
        return self.show(run)

    def logs(self) -> str:
        """The end of every log, for the message of a failed assertion."""
        paths = sorted(self.home.parent.glob("*.log"))
        return "\n".join(f"--- {p.name}\n{p.read_text(errors='replace')[-3000:]}" for p in paths)

    def stop(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def rows_of(home: Path, variables: Mapping[str, str], query: str) -> list[tuple[Any, ...]]:
    """What the database of an installation holds, read beside its processes and without Django."""
    url = variables.get("ASSAY_DATABASE_URL")
    if url is not None:
        with psycopg.connect(url) as there:
            return there.execute(query).fetchall()
    file = home / "db.sqlite3"
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=20)) as here:
        return here.execute(query).fetchall()


def wait_until(
    condition: Callable[[], bool], *, seconds: float, what: Callable[[], str] = lambda: ""
) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds:g} s in vain. {what()}"
        time.sleep(0.1)
