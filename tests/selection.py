"""Which tests a run on another database repeats: those that touch it.

pytest-django keeps every other test from any database, so it says the same on either.
"""

import os

import pytest

TOUCHES = frozenset({"db", "transactional_db", "django_db_serialized_rollback"})


def only_database_tests(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the database alone where the run is on PostgreSQL."""
    if os.environ.get("ASSAY_TEST_DATABASE") != "postgresql":
        return
    others = [item for item in items if not _touches(item)]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if _touches(item)]


def _touches(item: pytest.Item) -> bool:
    fixtures = getattr(item, "fixturenames", ())
    return item.get_closest_marker("django_db") is not None or not TOUCHES.isdisjoint(fixtures)
