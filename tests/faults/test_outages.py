"""Redis and PostgreSQL stopped and started while runs wait and while one goes."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.database import NOTHING_LEFT, leftovers, states, value
from tests.faults.own_servers import OwnPostgres, OwnRedis, own_servers
from tests.stacks import LEASE_S, Stack, wait_until

pytestmark = [
    pytest.mark.fault,
    pytest.mark.slow,
    pytest.mark.postgres,
    pytest.mark.redis,
]
SMOKE = ("study=smollm2_smoke", "prediction.enabled=false")
Team = tuple[Stack, OwnPostgres, OwnRedis]


@pytest.fixture
def team(tmp_path: Path, behave: Callable[..., None]) -> Iterator[Team]:
    with own_servers() as (postgres, redis):
        made = Stack(
            home=tmp_path / "home",
            variables={
                "ASSAY_DATABASE_URL": postgres.url,
                "ASSAY_REDIS_URL": redis.url,
                "DJANGO_SETTINGS_MODULE": "tests.fake_runner_settings",
                "FAKE_RUNNER": str(tmp_path / "behaviour.json"),
            },
        )
        done = made.assay("migrate")
        assert done.returncode == 0, done.stderr
        yield made, postgres, redis
        made.stop()


def sealed(stack: Stack) -> int:
    return states(stack).get("sealed", 0)


def test_runs_wait_in_the_database_while_the_broker_is_away(team: Team) -> None:
    stack, _, redis = team
    stack.start("worker")
    stack.start("beat")
    stack.submit(*SMOKE)
    wait_until(lambda: sealed(stack) == 1, seconds=120, what=stack.logs)

    redis.stop()
    runs = [stack.submit(*SMOKE) for _ in range(2)]  # accepted without a broker
    assert states(stack) == {"sealed": 1, "queued": 2}
    redis.start()

    wait_until(lambda: sealed(stack) == 3, seconds=120, what=stack.logs)
    assert len(set(runs)) == 2
    assert leftovers(stack) == NOTHING_LEFT


def test_a_run_outlives_a_database_that_is_away_for_longer_than_its_lease(
    team: Team, behave: Callable[..., None]
) -> None:
    stack, postgres, _ = team
    stack.start("worker")
    beat = stack.start("beat")
    behave(seconds=2)
    stack.submit(*SMOKE)
    stack.submit(*SMOKE)
    wait_until(lambda: states(stack).get("running") == 1, seconds=120, what=stack.logs)

    postgres.stop()
    time.sleep(LEASE_S + 2)  # the run ends meanwhile, and its lease runs out
    postgres.start()
    if beat.poll() is not None:  # as its keeper would
        stack.start("beat")

    wait_until(lambda: sealed(stack) == 2, seconds=120, what=stack.logs)
    assert value(stack, "SELECT count(*) FROM execution_execution") == 2
    assert leftovers(stack) == NOTHING_LEFT
