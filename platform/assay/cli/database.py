"""Bring up Django for the verbs that need the index, with a database of this version behind it."""

import os
from pathlib import Path

from assay.accounts.local_name import local_name
from assay.cli.exits import LACKING, complain


class NoDatabase(Exception):
    """The database cannot be used; the message says what to do."""


def set_up() -> None:
    """Load Django. Touches no file and no database."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "assay.settings")
    import django

    django.setup()


def database_exists() -> bool:
    """False if the embedded database was never made. Makes none."""
    set_up()
    from django.db import DEFAULT_DB_ALIAS, connections

    connection = connections[DEFAULT_DB_ALIAS]
    return connection.vendor != "sqlite" or Path(connection.settings_dict["NAME"]).exists()


def open_database() -> None:
    """Load Django and make sure that the tables are there.

    The embedded database is made and migrated on the way. A team's database is only looked at: migrating it
    is a decision. Raises NoDatabase.
    """
    set_up()
    from django.conf import settings
    from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
    from django.db.migrations.executor import MigrationExecutor

    connection = connections[DEFAULT_DB_ALIAS]
    embedded = connection.vendor == "sqlite"
    if embedded:
        settings.HOME.mkdir(parents=True, exist_ok=True)
    try:
        executor = MigrationExecutor(connection)
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        where = os.environ.get("ASSAY_DATABASE_URL", "")
        raise NoDatabase(
            f"database: {str(error).strip()} (allowed: a reachable PostgreSQL at ASSAY_DATABASE_URL). "
            f"Check the server and the URL ({_without_password(where)})"
        ) from error
    if pending and not embedded:
        raise NoDatabase(
            f"database: {len(pending)} migrations are missing (allowed: a database of this version). "
            "Run `assay migrate`"
        )
    if pending:
        migrate_now()


def migrate_now() -> None:
    """Migrate; of several processes that start at once, one does it and the others wait."""
    import fcntl

    from django.conf import settings
    from django.core.management import call_command

    with (settings.HOME / "migrate.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        call_command("migrate", verbosity=0, interactive=False)


def open_or_complain() -> int | None:
    """For verbs: None if the database is open, else the exit code to end with."""
    try:
        open_database()
    except NoDatabase as error:
        complain(str(error))
        return LACKING
    return None


def _without_password(url: str) -> str:
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    if parts.password is None:
        return url
    return url.replace(f":{parts.password}@", ":***@")


def owner() -> str:
    """Who runs this command, for the record: the name of their account on their own machine too."""
    return local_name()
