"""The doctor's checks. Each looks, changes nothing, and ends with a remedy where something is missing."""

import importlib.metadata
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from assay.archive.paths import PYTHON_PATH, home_from_environment

LOW_DISK_BYTES = 2 * 2**30
RUNNER_TIMEOUT_S = 120


class State(StrEnum):
    ok = "ok"
    missing = "missing"  # `assay run` or `assay up` cannot work without it
    optional = "optional"  # absent, and only some uses need it


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    name: str
    state: State
    seen: str
    remedy: str | None = None


def all_checks() -> list[Check]:
    looks: list[Callable[[], list[Check]]] = [
        _python,
        _packages,
        _engines,
        _machine,
        _disk,
        _database,
        _redis,
        _browser,
    ]
    return [check for look in looks for check in look()]


def _python() -> list[Check]:
    return [Check(name="python", state=State.ok, seen=sys.version.split()[0])]


def _packages() -> list[Check]:
    """What pyproject.toml asks for, as this environment has it."""
    lacking = []
    for requirement in importlib.metadata.requires("assay") or []:
        name, _, marker = requirement.partition(";")
        if "extra" in marker:
            continue
        bare = _distribution(name)
        try:
            importlib.metadata.version(bare)
        except importlib.metadata.PackageNotFoundError:
            lacking.append(bare)
    if lacking:
        seen = "not installed: " + ", ".join(lacking)
        return [Check(name="packages", state=State.missing, seen=seen, remedy="make setup")]
    return [Check(name="packages", state=State.ok, seen="all installed")]


def _distribution(requirement: str) -> str:
    for end, character in enumerate(requirement):
        if not (character.isalnum() or character in "-_."):
            return requirement[:end]
    return requirement


def _engines() -> list[Check]:
    """The runner's own doctor, in a process of its own: engines never load here."""
    command = [sys.executable, "-P", "-m", "runners", "doctor", "--json"]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=RUNNER_TIMEOUT_S,
            env={**os.environ, "PYTHONPATH": PYTHON_PATH},
        )
        found = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        remedy = "pip install -e '.[torch]'"
        return [Check(name="runner", state=State.missing, seen=str(error), remedy=remedy)]
    return [_runner_check(row) for row in found["checks"]]


def _runner_check(row: dict[str, object]) -> Check:
    remedy = row.get("remedy")
    return Check(
        name=str(row["name"]),
        state=State(str(row["state"])),
        seen=str(row["seen"]),
        remedy=str(remedy) if remedy else None,
    )


def _machine() -> list[Check]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return [Check(name="cores", state=State.ok, seen=f"{cores} usable")]


def _disk() -> list[Check]:
    home = home_from_environment().root
    place = next(p for p in (home, *home.parents) if p.exists())
    free = shutil.disk_usage(place).free
    seen = f"{free / 2**30:.1f} GiB free for {home}"
    if not os.access(place, os.W_OK):
        remedy = "export ASSAY_HOME=/a/folder/you/may/write"
        return [
            Check(name="home", state=State.missing, seen=f"{place} is read-only", remedy=remedy)
        ]
    if free < LOW_DISK_BYTES:
        remedy = "free some space, or point ASSAY_HOME elsewhere"
        return [Check(name="disk", state=State.missing, seen=seen, remedy=remedy)]
    return [Check(name="disk", state=State.ok, seen=seen)]


def _database() -> list[Check]:
    url = os.environ.get("ASSAY_DATABASE_URL")
    if not url:
        return [Check(name="database", state=State.ok, seen="embedded SQLite below ASSAY_HOME")]
    import psycopg

    try:
        with psycopg.connect(url, connect_timeout=3) as connection:
            version = connection.info.server_version // 10000
    except psycopg.Error as error:
        remedy = "start it (docker compose up -d postgres), or unset ASSAY_DATABASE_URL"
        seen = str(error).strip().splitlines()[0]
        return [Check(name="database", state=State.missing, seen=seen, remedy=remedy)]
    return [Check(name="database", state=State.ok, seen=f"PostgreSQL {version}")]


def _redis() -> list[Check]:
    url = os.environ.get("ASSAY_REDIS_URL")
    if not url:
        seen = "embedded, a folder below ASSAY_HOME"
        return [Check(name="broker", state=State.ok, seen=seen)]
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 6379), timeout=3):
            return [Check(name="broker", state=State.ok, seen=f"Redis at {parts.hostname}")]
    except OSError as error:
        remedy = "start it (docker compose up -d redis), or unset ASSAY_REDIS_URL"
        return [Check(name="broker", state=State.missing, seen=str(error), remedy=remedy)]


def _browser() -> list[Check]:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return [Check(name="browser", state=State.ok, seen=found)]
    cached = Path.home() / ".cache" / "ms-playwright"
    if any(cached.glob("chromium*")):
        return [Check(name="browser", state=State.ok, seen=str(cached))]
    seen = "no Chromium; only the browser tests need one"
    remedy = "make browser"
    return [Check(name="browser", state=State.optional, seen=seen, remedy=remedy)]
