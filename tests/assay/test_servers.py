"""The test run's own servers are what they claim to be."""

import subprocess
import sys

import psycopg
import pytest
import redis


@pytest.mark.postgres
def test_a_real_postgresql_answers(fresh_postgres_url: str) -> None:
    with psycopg.connect(fresh_postgres_url) as connection:
        row = connection.execute("SHOW server_version").fetchone()

    assert row is not None
    assert int(str(row[0]).split(".")[0]) >= 16


@pytest.mark.redis
def test_a_pytest_inside_a_test_leaves_the_servers_alone(redis_url: str) -> None:
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", __file__]

    subprocess.run(collect, check=True, capture_output=True)

    client = redis.Redis.from_url(redis_url)
    try:
        assert client.ping()
    finally:
        client.close()


@pytest.mark.redis
def test_a_real_redis_compatible_server_answers(redis_url: str) -> None:
    client = redis.Redis.from_url(redis_url)
    try:
        client.set("assay-test", "1", ex=5)

        assert client.get("assay-test") == b"1"
    finally:
        client.close()
