"""The processes of docker-compose.yml, with its commands, variables, secrets and checks; without docker."""

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.faults.database import NOTHING_LEFT, leftovers, states
from tests.faults.own_servers import own_servers
from tests.faults.test_kills import free_port
from tests.stacks import CHECKOUT, Stack, wait_until

pytestmark = [
    pytest.mark.fault,
    pytest.mark.slow,
    pytest.mark.postgres,
    pytest.mark.redis,
]
SERVICES: dict[str, Any] = yaml.safe_load((CHECKOUT / "docker-compose.yml").read_text())["services"]
STARTED = ("web", "beat", "worker-cpu")
DOT_ENV = {"ASSAY_HOSTS": "assay.example", "ASSAY_PLAIN_HTTP": "1"}


def variables_of(service: str, secrets: Path) -> dict[str, str]:
    """As compose resolves them: ``${NAME:-default}`` from .env, secrets where they are mounted."""

    def resolved(text: str) -> str:
        found = re.sub(r"\$\{(\w+):[-?]([^}]*)\}", lambda m: DOT_ENV.get(m[1], m[2]), text)
        return found.replace("/run/secrets", str(secrets))

    return {n: resolved(str(v)) for n, v in SERVICES[service]["environment"].items()}


def test_a_run_goes_through_the_services_and_each_is_well_by_its_own_check(
    tmp_path: Path, behave: Callable[..., None]
) -> None:
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    for name in ("database_password", "secret_key"):
        (secrets / name).write_text("x" * 40)
    port = free_port()
    with own_servers() as (postgres, redis):
        stack = Stack(
            home=tmp_path / "home",
            variables={
                **variables_of("web", secrets),
                "ASSAY_DATABASE_URL": postgres.url,
                "ASSAY_REDIS_URL": redis.url,
                "DJANGO_SETTINGS_MODULE": "tests.fake_runner_settings",
                "FAKE_RUNNER": str(tmp_path / "behaviour.json"),
            },
        )
        try:
            assert stack.assay(*SERVICES["migrate"]["command"]).returncode == 0
            processes = {
                name: stack.start(*told(SERVICES[name]["command"], port)) for name in STARTED
            }
            run = stack.submit("study=smollm2_smoke", "prediction.enabled=false")
            wait_until(lambda: states(stack) == {"sealed": 1}, seconds=120, what=stack.logs)

            wait_until(lambda: checked(stack, "beat", port) == 0, seconds=120, what=stack.logs)
            assert {name: checked(stack, name, port) for name in STARTED} == dict.fromkeys(
                STARTED, 0
            )
            for name, process in processes.items():
                os.killpg(process.pid, signal.SIGTERM)  # as `docker compose down` does
                process.wait(30)
                assert checked(stack, name, port) in ({0, 1} if name == "beat" else {1})
            assert stack.show(run)["state"] == "sealed"
            assert leftovers(stack) == NOTHING_LEFT
        finally:
            stack.stop()


def told(command: list[str], port: int) -> list[str]:
    """On loopback and at a free port."""
    return [{"0.0.0.0": "127.0.0.1", "8000": str(port)}.get(word, word) for word in command]


def checked(stack: Stack, service: str, port: int) -> int:
    _, _, *command = SERVICES[service]["healthcheck"]["test"]
    return stack.assay(*told(command, port)).returncode
