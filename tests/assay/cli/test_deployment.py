"""The dashboard's door, and the team installation as it is written down."""

import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from assay.cli.main import VERBS, _parser, main

CHECKOUT = Path(__file__).resolve().parents[3]
COMPOSE: dict[str, Any] = yaml.safe_load((CHECKOUT / "docker-compose.yml").read_text())
OURS = {name: s for name, s in COMPOSE["services"].items() if name not in {"postgres", "redis"}}


def settings_with(**variables: str) -> subprocess.CompletedProcess[str]:
    names = (
        *("EMBEDDED", "ALLOWED_HOSTS", "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "DEBUG"),
        *("SECURE_HSTS_SECONDS", "CSRF_TRUSTED_ORIGINS", "SECURE_SSL_REDIRECT"),
        *(("SECRET_KEY", "DATABASES") if "ASSAY_SECRET_KEY_FILE" in variables else ()),
    )
    code = (
        "import json; from django.conf import settings\n"
        f"print(json.dumps({{n: getattr(settings, n) for n in {names!r}}}, default=str))"
    )
    environment = {
        "PYTHONPATH": f"{CHECKOUT / 'platform'}:{CHECKOUT}",
        "DJANGO_SETTINGS_MODULE": "assay.settings",
        "ASSAY_HOME": "/nonexistent",
        **variables,
    }
    return subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True
    )


def test_for_a_team_cookies_are_secure_and_hosts_are_named() -> None:
    done = settings_with(
        ASSAY_HOSTS="assay.example, lab.example", ASSAY_SECRET_KEY="k", ASSAY_BEHIND_PROXY="1"
    )

    assert json.loads(done.stdout) == {
        "EMBEDDED": False,
        "ALLOWED_HOSTS": ["assay.example", "lab.example"],
        "SESSION_COOKIE_SECURE": True,
        "CSRF_COOKIE_SECURE": True,
        "DEBUG": False,
        "SECURE_HSTS_SECONDS": 2592000,
        "CSRF_TRUSTED_ORIGINS": ["https://assay.example", "https://lab.example"],
        "SECURE_SSL_REDIRECT": True,
    }


def test_a_secret_may_lie_in_a_file(tmp_path: Path) -> None:
    for name in ("key", "password"):
        (tmp_path / name).write_text(f"the {name}\n")

    done = settings_with(
        ASSAY_HOSTS="assay.example",
        ASSAY_SECRET_KEY_FILE=str(tmp_path / "key"),
        ASSAY_DATABASE_URL="postgresql://assay@postgres:5432/assay",
        ASSAY_DATABASE_PASSWORD_FILE=str(tmp_path / "password"),
    )

    found = json.loads(done.stdout)
    assert found["SECRET_KEY"] == "the key"
    assert found["DATABASES"]["default"]["PASSWORD"] == "the password"


def test_for_a_team_a_missing_secret_key_is_refused() -> None:
    done = settings_with(ASSAY_HOSTS="assay.example")

    assert done.returncode != 0
    assert "ASSAY_SECRET_KEY is not set" in done.stderr


def test_embedded_only_loopback_names_are_answered() -> None:
    found = json.loads(settings_with().stdout)

    assert found["ALLOWED_HOSTS"] == ["127.0.0.1", "localhost", "[::1]"]
    assert (found["EMBEDDED"], found["DEBUG"]) == (True, False)


@pytest.mark.parametrize("verb", ["web", "up"])
def test_without_sign_in_it_listens_on_loopback_only(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, "--host", "0.0.0.0"]) == 2
    assert "Without ASSAY_HOSTS nobody has a password" in capsys.readouterr().err


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


@pytest.mark.forbids
@pytest.mark.parametrize("verb", ["web", "up"])
@pytest.mark.parametrize("port", ["0", "-1", "65536", "eighty"])
def test_what_is_no_port_is_refused(
    verb: str, port: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([verb, f"--port={port}"])

    assert ended.value.code == 2
    assert f"{port} is no port (1 to 65535)" in capsys.readouterr().err


@pytest.mark.parametrize("service", sorted(OURS))
def test_every_service_of_the_team_installation_is_a_verb_with_its_options(service: str) -> None:
    verb, *options = OURS[service]["command"]
    import importlib

    module = importlib.import_module(VERBS[verb][0])
    _parser(verb, module).parse_args(options)


def test_every_variable_of_the_team_installation_is_one_that_the_settings_know() -> None:
    assay = CHECKOUT / "platform" / "assay"
    readers = (
        *(assay / "settings.py", assay / "archive/paths.py", assay / "archive/remote/location.py"),
        CHECKOUT / "experiments/checks/policy.py",
    )
    known = "".join(path.read_text() for path in readers)
    given = {name for s in OURS.values() for name in s["environment"]} - {"ASSAY_LOG_FORMAT"}

    assert given
    assert all(f'"{name.removesuffix("_FILE")}"' in known for name in given)


def test_the_dashboard_of_the_team_installation_is_published_on_loopback_only() -> None:
    assert all(p.startswith("127.0.0.1:") for p in COMPOSE["services"]["web"]["ports"])


def test_the_installation_is_one_by_the_compose_specification() -> None:
    schema = json.loads((CHECKOUT / "tests/data/compose/compose-spec.json").read_bytes())

    jsonschema.Draft202012Validator.check_schema(schema)
    problems = list(jsonschema.Draft202012Validator(schema).iter_errors(COMPOSE))
    assert problems == []
    # and the schema does say no
    assert not jsonschema.Draft202012Validator(schema).is_valid({**COMPOSE, "servics": {}})


def test_what_services_name_is_there() -> None:
    for service in COMPOSE["services"].values():
        volumes = {v.partition(":")[0] for v in service.get("volumes", ())}
        assert volumes <= set(COMPOSE["volumes"])
        assert set(service.get("secrets", ())) <= set(COMPOSE["secrets"])
        assert set(service.get("networks", ())) <= set(COMPOSE["networks"])
        assert set(service.get("depends_on", ())) <= set(COMPOSE["services"])


def test_whatever_stays_up_is_watched_and_unprivileged() -> None:
    dockerfile = (CHECKOUT / "Dockerfile").read_text()
    lasting = {n: s for n, s in COMPOSE["services"].items() if s["restart"] != "no"}

    assert all("healthcheck" in service for service in lasting.values())
    assert all(s["security_opt"] == ["no-new-privileges:true"] for s in lasting.values())
    assert "\nUSER assay\n" in dockerfile
    assert {s.get("user") for s in COMPOSE["services"].values() if "build" not in s} == {
        "postgres",
        "valkey",
    }
    assert all(s["cap_drop"] == ["ALL"] for s in OURS.values())


def test_no_secret_is_written_into_the_installation() -> None:
    assert all("PASSWORD" not in n or n.endswith("_FILE") for n in _given())
    assert all("SECRET" not in n or n.endswith("_FILE") for n in _given())
    assert ":@" not in OURS["web"]["environment"]["ASSAY_DATABASE_URL"]
    assert {"postgres", "redis"} == {
        n for n, s in COMPOSE["services"].items() if s["networks"] == ["inside"]
    }
    assert COMPOSE["networks"]["inside"]["internal"] is True


def _given() -> set[str]:
    return {name for s in COMPOSE["services"].values() for name in s.get("environment", ())}


@pytest.mark.parametrize("service", sorted(n for n in OURS if "healthcheck" in OURS[n]))
def test_every_check_is_a_verb_with_its_options(service: str) -> None:
    _, program, verb, *options = OURS[service]["healthcheck"]["test"]
    import importlib

    assert (program, verb) == ("assay", "health")
    module = importlib.import_module(VERBS[verb][0])
    _parser(verb, module).parse_args(options)


@pytest.mark.parametrize("service", sorted(n for n in OURS if "args" in OURS[n].get("build", {})))
def test_an_image_of_an_engine_is_made_from_a_lock_that_is_shipped(service: str) -> None:
    engine = OURS[service]["build"]["args"].get("ENGINE")
    if engine is not None:
        key, _, version = engine.partition("==")
        variant = OURS[service]["build"]["args"]["VARIANT"]
        assert (CHECKOUT / f"runners/engines/{key}/locks/{version}-{variant}.txt").is_file()


def test_every_queue_has_a_worker() -> None:
    workers = [s["command"][1:] for s in OURS.values() if s["command"][0] == "worker"]

    assert {tuple(options) for options in workers} == {
        ("--queues", "cpu"),
        ("--queues", "cuda"),
        ("--load",),
    }


def test_load_workers_have_a_home_of_their_own_and_see_the_plans_of_the_others() -> None:
    """In a home one thing is carried out at a time; without an archive a plan lies with its run."""
    load, other = OURS["worker-load"], OURS["worker-cpu"]
    dockerfile = (CHECKOUT / "Dockerfile").read_text()
    usual = re.search(r"ASSAY_HOME=(\S+)", dockerfile)
    assert usual is not None
    mounted = [volume.partition(":")[2] for volume in load["volumes"]]

    assert "ASSAY_HOME" not in other["environment"]
    assert f"state:{usual[1]}" in load["volumes"]
    assert f"state:{usual[1]}" in other["volumes"]
    # below no volume: two containers of the service share no home
    own = Path(load["environment"]["ASSAY_HOME"])
    assert not any(own.is_relative_to(folder) for folder in mounted)
    assert own.is_relative_to("/home/assay")
    assert "useradd --system --create-home assay" in dockerfile
