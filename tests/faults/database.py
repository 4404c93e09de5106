"""What the database of a stack holds, read beside its processes and without Django."""

from typing import Any

from tests.stacks import Stack

TERMINAL = ("sealed", "failed", "aborted", "lost", "refused")


def value(stack: Stack, query: str) -> Any:
    [[found]] = stack.rows(query)
    return found


def states(stack: Stack) -> dict[str, int]:
    return dict(stack.rows("SELECT state, count(*) FROM ledger_run GROUP BY state"))


def leftovers(stack: Stack) -> dict[str, int]:
    """Whatever must be nothing once every run has ended and was cleaned up after."""
    asked = {
        "runs not ended": "SELECT count(*) FROM ledger_run WHERE state IN ('queued', 'running')",
        "executions not closed": "SELECT count(*) FROM execution_execution WHERE ended_at IS NULL",
        "devices held": "SELECT count(*) FROM execution_devicelease WHERE released_at IS NULL",
        "shares of a load not ended": "SELECT count(*) FROM execution_loadshare WHERE ended_at IS NULL",
        "runs carried out twice": "SELECT count(*) FROM (SELECT run_id FROM execution_execution "
        "GROUP BY run_id HAVING count(*) > 1) AS twice",
        "sealed without a bundle": "SELECT count(*) FROM ledger_run r WHERE state = 'sealed' AND NOT "
        "EXISTS (SELECT 1 FROM ledger_bundle b WHERE b.execution_id = r.accepted_execution)",
    }
    return {what: value(stack, query) for what, query in asked.items()}


NOTHING_LEFT = {
    "runs not ended": 0,
    "executions not closed": 0,
    "devices held": 0,
    "shares of a load not ended": 0,
    "runs carried out twice": 0,
    "sealed without a bundle": 0,
}
