"""The triggers of sealed rows would also stop the test runner from emptying its tables between tests."""

import importlib
from typing import Any

from django.db import connections
from django.test import TransactionTestCase

GUARDS = (
    "migrations.ledger.0002_guard_sealed_rows",
    "migrations.execution.0002_guard_ended_executions",
    "migrations.review.0002_guard_what_was_said",
)


def let_tests_flush() -> None:
    """Lift the guards while a transactional test is torn down, and put them back."""
    teardown = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]

    def lifted(self: TransactionTestCase) -> Any:
        _execute("remove_sql")
        try:
            return teardown(self)
        finally:
            _execute("install_sql")

    TransactionTestCase._fixture_teardown = lifted  # type: ignore[attr-defined]


def _execute(name: str) -> None:
    connection = connections["default"]
    with connection.cursor() as cursor:
        for module in map(importlib.import_module, GUARDS):
            for statement in getattr(module, name)(connection.vendor):
                cursor.execute(statement)
