"""Databases of this version, migrated once a test run: migrating takes seconds of CPU, a copy nearly none."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import servers
from tests.stacks import Stack

_TEMPLATE = "migrated"


def embedded(home: Path) -> None:
    """Give a home without a database a migrated one."""
    home.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(servers.shared("migrated-sqlite", _make_sqlite)["path"], home / "db.sqlite3")


@contextmanager
def postgres_database() -> Iterator[str]:
    """The URL of a migrated database of the shared server, dropped afterwards."""
    template = servers.shared("migrated-postgres", _make_postgres)["name"]
    with servers.postgres_database(template) as url:
        yield url


def _make_sqlite(folder: Path) -> dict[str, str]:
    home = folder / "migrated"
    _migrate(home, {})
    return {"path": str(home / "db.sqlite3")}


def _make_postgres(folder: Path) -> dict[str, str]:
    import psycopg

    maintenance = servers.postgres_url()
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {_TEMPLATE}")
    url = maintenance.replace("/postgres?", f"/{_TEMPLATE}?")
    _migrate(folder / "migrated-team", {"ASSAY_DATABASE_URL": url})
    return {"name": _TEMPLATE}


def _migrate(home: Path, variables: dict[str, str]) -> None:
    done = Stack(home=home, variables=variables).assay("migrate", timeout=240)
    assert done.returncode == 0, done.stderr
