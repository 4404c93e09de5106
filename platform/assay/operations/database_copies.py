"""A copy of the whole database as of one instant, and back. SQLite by its own backup; PostgreSQL by COPY.

No tool of the database server is needed, and what is written does not depend on the server's version. The
migrations that were applied go along: a copy is put back into the schema it was taken from, then migrated.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from assay.archive.errors import ArchiveError

SQLITE_FILE = "db.sqlite3"
_BLOCK = 2**20
_TABLE = re.compile(r"[a-z_][a-z0-9_]{0,62}")


class RefusedRestore(ArchiveError):
    """A backup that cannot go where it was asked to."""


def copy_out(folder: Path) -> dict[str, Any]:
    """Write the database into ``folder``; what must be known to put it back."""
    folder.mkdir(parents=True)
    if connection.vendor == "sqlite":
        _copy_sqlite(Path(connection.settings_dict["NAME"]), folder / SQLITE_FILE)
        return {"vendor": "sqlite"}
    with _own_connection() as own:
        own.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        tables = {table: _columns(own, table) for table in _tables(own)}
        applied = own.execute("SELECT app, name FROM django_migrations ORDER BY id").fetchall()
        for table, columns in tables.items():
            listed = ", ".join(f'"{c}"' for c in columns)
            with (
                own.cursor().copy(f'COPY "{table}" ({listed}) TO STDOUT') as rows,
                (folder / f"{table}.copy").open("wb") as file,
            ):
                for block in rows:
                    file.write(block)
        own.execute("ROLLBACK")
    return {"vendor": "postgresql", "tables": tables, "migrations": [list(row) for row in applied]}


def copy_in(folder: Path, described: Mapping[str, Any]) -> None:
    """Into the empty database of the settings, then brought to this version. Raises RefusedRestore."""
    refuse_unless_empty(described)
    if described["vendor"] == "sqlite":
        target = Path(connection.settings_dict["NAME"])
        target.parent.mkdir(parents=True, exist_ok=True)
        connection.close()
        _copy_sqlite(folder / SQLITE_FILE, target)
    else:
        _migrate_to([(app, name) for app, name in described["migrations"]])
        _fill(folder, described["tables"])
    call_command("migrate", verbosity=0, interactive=False)


def refuse_unless_empty(described: Mapping[str, Any]) -> None:
    if described["vendor"] != connection.vendor:
        raise RefusedRestore(
            f"database: {connection.vendor} (allowed: {described['vendor']}, which the backup was taken "
            "from). Set or unset ASSAY_DATABASE_URL"
        )
    if connection.vendor == "sqlite":
        is_empty = not Path(connection.settings_dict["NAME"]).exists()
    else:
        is_empty = not connection.introspection.table_names()
    if not is_empty:
        raise RefusedRestore(
            "database: it holds tables (allowed: an empty database). Make a new one, or a new ASSAY_HOME"
        )


def _copy_sqlite(source: Path, target: Path) -> None:
    """Page by page under SQLite's own locks: writers go on, and the copy is of one instant."""
    with (
        closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as ours,
        closing(sqlite3.connect(target)) as copy,
    ):
        ours.backup(copy, pages=4096, sleep=0.01)
        if (found := copy.execute("PRAGMA quick_check").fetchone()[0]) != "ok":
            raise RefusedRestore(f"database: {source}: {found} (allowed: a sound SQLite file)")


@contextmanager
def _own_connection() -> Iterator[Any]:
    """Beside Django's: its transaction must see one instant."""
    own = connection.get_new_connection(connection.get_connection_params())
    own.autocommit = True
    with closing(own):
        yield own


def _tables(own: Any) -> list[str]:
    question = (
        "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename"
    )
    return [name for (name,) in own.execute(question).fetchall()]


def _columns(own: Any, table: str) -> list[str]:
    question = (
        "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() "
        "AND table_name = %s ORDER BY ordinal_position"
    )
    return [name for (name,) in own.execute(question, [table]).fetchall()]


def _migrate_to(applied: list[tuple[str, str]]) -> None:
    executor = MigrationExecutor(connection)
    graph = executor.loader.graph
    if unknown := [f"{app}.{name}" for app, name in applied if (app, name) not in graph.nodes]:
        raise RefusedRestore(
            f"migrations: {', '.join(unknown[:3])} (allowed: those of this version or earlier). Restore with "
            "the version of Assay that made the backup, or a later one"
        )
    wanted = set(applied)
    leaves = [
        key
        for key in applied
        if not any(child.key in wanted for child in graph.node_map[key].children)
    ]
    executor.migrate(leaves)


def _fill(folder: Path, tables: Mapping[str, list[str]]) -> None:
    """All rows in one transaction: foreign keys are looked at when it ends."""
    for name in [*tables, *(column for columns in tables.values() for column in columns)]:
        if not _TABLE.fullmatch(name):  # it goes into a statement
            raise RefusedRestore(f"database: {name!r} (allowed: names of tables and columns)")
    with _own_connection() as own:
        own.execute("BEGIN")
        listed = ", ".join(f'"{t}"' for t in tables)
        own.execute(f"TRUNCATE {listed} CASCADE")
        for table, columns in tables.items():
            names = ", ".join(f'"{c}"' for c in columns)
            with (
                own.cursor().copy(f'COPY "{table}" ({names}) FROM STDIN') as rows,
                (folder / f"{table}.copy").open("rb") as file,
            ):
                while block := file.read(_BLOCK):
                    rows.write(block)
        _wind_on(own, tables)
        own.execute("COMMIT")


def _wind_on(own: Any, tables: Mapping[str, list[str]]) -> None:
    """Numbers that the database gives out go on after the highest that was restored."""
    from psycopg import sql  # PostgreSQL's alone

    for table in tables:
        question = (
            "SELECT a.attname, pg_get_serial_sequence(%s, a.attname) FROM pg_attribute a "
            "WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped"
        )
        for column, sequence in own.execute(question, [f'"{table}"', f'"{table}"']).fetchall():
            if sequence is not None:
                highest = sql.SQL("SELECT COALESCE(MAX({}), 0) + 1 FROM {}").format(
                    sql.Identifier(column), sql.Identifier(table)
                )
                (number,) = own.execute(highest).fetchone()
                own.execute("SELECT setval(%s, %s, false)", [sequence, number])
