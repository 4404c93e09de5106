"""``assay migrate``: bring the database to this version."""

import argparse

from assay.cli.database import migrate_now, set_up
from assay.cli.exits import DONE, LACKING, complain

HELP = "Make or migrate the database, embedded or at ASSAY_DATABASE_URL."


def add_arguments(_parser: argparse.ArgumentParser) -> None:
    pass


def run(_arguments: argparse.Namespace) -> int:
    set_up()
    from django.conf import settings
    from django.db import DatabaseError

    settings.HOME.mkdir(parents=True, exist_ok=True)
    try:
        migrate_now()
    except DatabaseError as error:
        complain(f"database: {str(error).strip()} (allowed: a reachable database of this version)")
        return LACKING
    return DONE
