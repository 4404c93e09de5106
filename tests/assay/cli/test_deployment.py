"""The dashboard's door, and the team installation as it is written down."""

import socket
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.cli.main import VERBS, _parser, main

CHECKOUT = Path(__file__).resolve().parents[3]
COMPOSE: dict[str, Any] = yaml.safe_load((CHECKOUT / "docker-compose.yml").read_text())
OURS = {name: s for name, s in COMPOSE["services"].items() if name not in {"postgres", "redis"}}


@pytest.mark.parametrize("verb", ["web", "up"])
def test_without_sign_in_it_listens_on_loopback_only(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, "--host", "0.0.0.0"]) == 2
    assert "Without ASSAY_HOSTS nobody signs in" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["web", "up"])
def test_a_port_that_is_taken_is_named_with_the_next_one(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        assert main([verb, "--port", str(port)]) == 3

    assert f"error: --port: {port}: Address already in use" in capsys.readouterr().err


@pytest.mark.parametrize("service", sorted(OURS))
def test_every_service_of_the_team_installation_is_a_verb_with_its_options(service: str) -> None:
    verb, *options = OURS[service]["command"]
    import importlib

    module = importlib.import_module(VERBS[verb][0])
    _parser(verb, module).parse_args(options)


def test_every_variable_of_the_team_installation_is_one_that_the_settings_know() -> None:
    known = (CHECKOUT / "platform" / "assay" / "settings.py").read_text()
    given = {name for s in OURS.values() for name in s["environment"]}

    assert given
    assert all(f'"{name}"' in known for name in given)


def test_the_dashboard_of_the_team_installation_is_published_on_loopback_only() -> None:
    assert all(p.startswith("127.0.0.1:") for p in COMPOSE["services"]["web"]["ports"])


def test_every_queue_has_a_worker() -> None:
    served = {s["command"][2] for s in OURS.values() if s["command"][:2] == ["worker", "--queues"]}

    assert served == {"cpu", "cuda"}
