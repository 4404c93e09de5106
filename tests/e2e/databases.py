"""What the database of an installation holds, read past Assay: that a flow went through the one it names."""

from typing import Any

import pytest

from tests.e2e.site import Site
from tests.stacks import rows_of

# On SQLite with the folder broker, and on PostgreSQL with Redis. The fixture that is named stands on either.
STACKS = ("embedded", pytest.param("team", marks=[pytest.mark.postgres, pytest.mark.redis]))
ON_BOTH = pytest.mark.parametrize("site", STACKS, indirect=True)


def rows(site: Site, query: str) -> list[tuple[Any, ...]]:
    """Asked of PostgreSQL where the installation names one: there a file of SQLite is never made."""
    if "ASSAY_DATABASE_URL" in site.variables:
        assert not (site.home / "db.sqlite3").exists()
    return rows_of(site.home, site.variables, query)
