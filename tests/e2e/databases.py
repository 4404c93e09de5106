"""What the database of an installation holds, read past Assay: that a flow went through the one it names."""

import sqlite3
from contextlib import closing
from typing import Any

import psycopg
import pytest

from tests.e2e.site import Site

# On SQLite with the folder broker, and on PostgreSQL with Redis. The fixture that is named stands on either.
STACKS = ("embedded", pytest.param("team", marks=[pytest.mark.postgres, pytest.mark.redis]))
ON_BOTH = pytest.mark.parametrize("site", STACKS, indirect=True)


def rows(site: Site, query: str) -> list[tuple[Any, ...]]:
    """Asked of PostgreSQL where the installation names one: there a file of SQLite is never made."""
    sqlite = site.home / "db.sqlite3"
    if (url := site.variables.get("ASSAY_DATABASE_URL")) is None:
        with closing(sqlite3.connect(f"file:{sqlite}?mode=ro", uri=True)) as file:
            return file.execute(query).fetchall()
    assert not sqlite.exists()
    with psycopg.connect(url) as connection:
        return connection.execute(query).fetchall()
