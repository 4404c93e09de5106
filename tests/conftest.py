"""Fixtures of every test: state in a temporary home, no network but loopback, real servers on demand."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import pytest_socket

from assay.archive.paths import Home
from tests import guards, servers
from tests.stacks import Stack


def pytest_runtest_setup() -> None:
    pytest_socket.socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)


def pytest_configure() -> None:
    guards.let_tests_flush()


def pytest_unconfigure() -> None:
    servers.stop_all()  # in the controlling process; xdist workers end before it


@pytest.fixture
def assay_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: object) -> Home:
    """An empty home for this test, in the environment and in Django's settings."""
    root = tmp_path / "home"
    root.mkdir()
    monkeypatch.setenv("ASSAY_HOME", str(root))
    settings.HOME = root  # type: ignore[attr-defined]
    return Home(root)


@pytest.fixture(scope="session")
def postgres_url() -> str:
    """A real PostgreSQL, shared by the whole test run."""
    return servers.postgres_url()


@pytest.fixture(scope="session")
def redis_url() -> str:
    """A real Redis-compatible server, shared by the whole test run."""
    return servers.redis_url()


@pytest.fixture
def fresh_postgres_url(postgres_url: str) -> Iterator[str]:
    """A database of its own for processes that a test starts."""
    import uuid

    import psycopg

    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield postgres_url.replace("/postgres?", f"/{name}?")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(
    params=[
        "embedded",
        pytest.param("team", marks=[pytest.mark.postgres, pytest.mark.redis]),
    ]
)
def stack(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stack]:
    """SQLite with the folder broker, and PostgreSQL with Redis; the processes are ended afterwards."""
    variables = {}
    if request.param == "team":
        variables = {
            "ASSAY_DATABASE_URL": request.getfixturevalue("fresh_postgres_url"),
            "ASSAY_REDIS_URL": request.getfixturevalue("fresh_redis_url"),
        }
    made = Stack(home=tmp_path / "home", variables=variables)
    done = made.assay("migrate")
    assert done.returncode == 0, done.stderr
    yield made
    made.stop()


_redis_numbers = itertools.count(1)


@pytest.fixture
def fresh_redis_url(redis_url: str) -> str:
    """An empty numbered database of the shared server."""
    import redis

    # xdist workers share the server: each takes its own few of the sixteen databases
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    url = redis_url.removesuffix("/0") + f"/{(worker * 4 + next(_redis_numbers) % 4) % 16}"
    client = redis.Redis.from_url(url)
    client.flushdb()
    client.close()
    return url
