"""An engine that somebody else runs is asked on the pinned address, and only what it tells is known."""

import asyncio
import ssl
from collections.abc import Mapping
from pathlib import Path

import pytest

from runners.evidence.elsewhere import Answer, Door, check_model, check_version, origin, reach
from runners.protocol.errors import RunFailed
from tests.runners.load.certificates import self_signed
from tests.runners.load.elsewhere import PAGES, an_endpoint, served
from tests.runners.load.servers import answers_well


def reached(url: str, *, bearer: str | None = None, timeout_s: float = 5.0) -> Answer:
    door = Door(base_url=origin(url), address="127.0.0.1", bearer=bearer)
    return asyncio.run(
        reach(
            door,
            health_path="/health",
            info_path="/v1/models",
            version_path="/version",
            timeout_s=timeout_s,
            tell=lambda _line: None,
        )
    )


def with_pages(**pages: tuple[str, bytes]) -> Mapping[str, tuple[str, bytes]]:
    return {**PAGES, **{f"/{name.replace('_', '/')}": page for name, page in pages.items()}}


def test_it_says_its_models_its_version_and_what_stands_in_front_of_it() -> None:
    with served(an_endpoint(answers_well, PAGES, "Server: some-proxy/2")) as server:
        found = reached(f"{server.url}/v1")

    assert found.models == ["small"]
    assert found.version == "1.2.3"
    assert found.info["server_header"] == "some-proxy/2"
    assert found.info["asked"] == {"/v1/models": 200, "/health": 200, "/version": 200}


def test_what_it_does_not_tell_stays_unknown() -> None:
    silent = dict.fromkeys(("/v1/models", "/health", "/version"), ("404 Not Found", b""))
    with served(an_endpoint(answers_well, silent)) as server:
        found = reached(server.url)

    assert (found.models, found.version) == (None, None)


@pytest.mark.forbids
def test_a_redirect_is_not_followed() -> None:
    with served(answers_well) as other:
        moved = with_pages(v1_models=("307 Temporary Redirect", b""))
        behaviour = an_endpoint(answers_well, moved, f"Location: {other.url}/v1/models")
        with served(behaviour) as server, pytest.raises(RunFailed) as caught:
            reached(server.url)

        assert other.exchanges == []
    assert "redirects are not followed" in caught.value.finding.allowed
    assert other.url in caught.value.finding.seen


def test_a_closed_door_names_the_variable_for_the_key() -> None:
    locked = with_pages(v1_models=("401 Unauthorized", b""))
    with served(an_endpoint(answers_well, locked)) as server, pytest.raises(RunFailed) as caught:
        reached(server.url)

    assert caught.value.finding.field == "engine.settings.authorization_env"


def test_the_key_is_sent_as_a_bearer_token() -> None:
    with served(an_endpoint(answers_well)) as server:
        reached(server.url, bearer="Bearer open-sesame")

    assert server.exchanges[0].headers["authorization"] == "Bearer open-sesame"


def test_nobody_there_is_said_after_the_declared_time() -> None:
    with served(answers_well) as server:
        url = server.url

    with pytest.raises(RunFailed, match=r"no answer from .* within 0\.3 s"):
        reached(url, timeout_s=0.3)


@pytest.mark.forbids
def test_a_certificate_that_nobody_vouches_for_ends_the_wait_at_once(tmp_path: Path) -> None:
    with served(an_endpoint(answers_well), tls=self_signed(tmp_path)) as server:
        url = server.url.replace("http:", "https:")
        with pytest.raises(RunFailed) as caught:
            reached(url, timeout_s=60.0)

    assert "CERTIFICATE_VERIFY_FAILED" in caught.value.finding.seen


def test_a_certificate_of_a_known_authority_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context: ssl.SSLContext = self_signed(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    with served(an_endpoint(answers_well), tls=context) as server:
        assert reached(server.url.replace("http:", "https:")).version == "1.2.3"


@pytest.mark.parametrize(("pin", "stated"), [("1.2.3", None), ("1.2.3", "1.2.4")])
def test_a_pin_that_the_endpoint_does_not_confirm_fails_the_run(
    pin: str, stated: str | None
) -> None:
    with pytest.raises(RunFailed) as caught:
        check_version(pin, stated)

    assert caught.value.finding.field == "engine.version"
    assert pin in caught.value.finding.seen


def test_a_version_that_is_not_pinned_may_be_any() -> None:
    check_version(None, None)
    check_version(None, "1.2.3")
    check_version("1.2.3", "1.2.3")


def test_a_model_that_is_not_listed_is_refused_with_those_that_are() -> None:
    check_model("small", None)  # a list that nobody gives refuses nothing
    with pytest.raises(RunFailed) as caught:
        check_model("large", ["small", "tiny"])

    assert caught.value.finding.allowed == "small, tiny"
