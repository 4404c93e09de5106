"""Whether this process can do its work: database, migrations, broker, disk. Each says why it cannot."""

import os
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from assay.archive.paths import Home
from assay.operations.state import disk

LEAST_FREE_BYTES = 512 * 2**20  # below it a run could not be sealed
PATIENCE_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """``problem`` is empty where all is well."""

    name: str
    problem: str


def ready() -> list[Check]:
    home = Home(settings.HOME)
    asked: dict[str, Callable[[], str]] = {
        "database": _database,
        "migrations": _migrations,
        "broker": lambda: _broker(home),
        "disk": lambda: _disk(home),
    }
    return [Check(name=name, problem=ask()) for name, ask in asked.items()]


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return _words(error)
    return ""


def _migrations() -> str:
    try:
        executor = MigrationExecutor(connection)
        missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    except DatabaseError as error:
        return _words(error)
    return f"{missing} are missing; run `assay migrate`" if missing else ""


def _broker(home: Home) -> str:
    if not settings.REDIS_URL:
        folder = home.broker if home.broker.exists() else home.root
        return "" if os.access(folder, os.W_OK) else f"{folder} cannot be written to"
    import redis

    client = redis.Redis.from_url(
        settings.REDIS_URL, socket_connect_timeout=PATIENCE_S, socket_timeout=PATIENCE_S
    )
    try:
        client.ping()
    except redis.RedisError as error:
        return _words(error)
    finally:
        client.close()
    return ""


def _disk(home: Home) -> str:
    free = disk(home).free_bytes
    if free >= LEAST_FREE_BYTES:
        return ""
    return f"{free} B are free (allowed: {LEAST_FREE_BYTES} or more). `assay retain` makes room"


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
