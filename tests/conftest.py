"""Fixtures of every test: state in a temporary home, no network but loopback, real servers on demand."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import pytest_socket
from django.utils import translation

from assay.archive.paths import Home
from tests import economy, guards, migrated, selection, servers, traceability
from tests.stacks import Stack


def pytest_runtest_setup() -> None:
    translation.deactivate()  # a request of an earlier test leaves the language of its reader
    pytest_socket.socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)


def pytest_configure() -> None:
    guards.let_tests_flush()
    economy.bound_examples()


@pytest.hookimpl(tryfirst=True)  # before marks and keywords leave some out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    traceability.remember(config, items)
    selection.only_database_tests(config, items)


def pytest_collection_finish() -> None:
    economy.forget_what_stays()


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
def fresh_postgres_url() -> Iterator[str]:
    """An empty database of its own for processes that a test starts."""
    with servers.postgres_database() as url:
        yield url


@pytest.fixture
def migrated_postgres_url() -> Iterator[str]:
    """A database of this version of its own for processes that a test starts."""
    with migrated.postgres_database() as url:
        yield url


@pytest.fixture(
    params=[
        "embedded",
        pytest.param("team", marks=[pytest.mark.postgres, pytest.mark.redis]),
    ]
)
def stack(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stack]:
    """SQLite with the folder broker, and PostgreSQL with Redis; the processes are ended afterwards."""
    home, variables = tmp_path / "home", {}
    if request.param == "team":
        home.mkdir()
        variables = {
            "ASSAY_DATABASE_URL": request.getfixturevalue("migrated_postgres_url"),
            "ASSAY_REDIS_URL": request.getfixturevalue("fresh_redis_url"),
        }
    else:
        migrated.embedded(home)
    made = Stack(home=home, variables=variables)
    yield made
    made.stop()


@pytest.fixture
def fresh_redis_url() -> str:
    """An empty numbered database of the shared server."""
    return servers.redis_database()
