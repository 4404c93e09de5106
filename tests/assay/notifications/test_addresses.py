"""A webhook goes where the installation says, and nowhere else, whatever a name resolves to."""

import socket

import pytest
from pytest_django import Settings

from assay.notifications.addresses import check_url, target
from experiments.errors import Refusal


@pytest.fixture(autouse=True)
def listed(settings: Settings) -> None:
    settings.WEBHOOK_HOSTS = ["hooks.example", "other.example:8443", "localhost"]
    settings.WEBHOOK_NETWORKS = []


def resolves_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    def found(_host: str, port: int, **_more: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, port)) for a in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", found)


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example/a?b=c",
        "https://HOOKS.example:443/",
        "https://other.example:8443/x",
        "http://localhost:9000/hook",
    ],
)
def test_what_is_listed_may_be_named(url: str) -> None:
    check_url(url)


@pytest.mark.forbids
@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example/",
        "https://hooks.example:8443/",
        "https://other.example/",
        "https://elsewhere.example/",
        "https://hooks.example.evil.example/",
        "https://user@hooks.example/",
        "https://hooks.example@evil.example/",
        "file:///etc/passwd",
        "gopher://hooks.example/",
        "https://[::1]/",
        "https://127.0.0.1/",
        "https://hooks.example/#x",
        "https://hooks.example/\r\nHost: x",
        "https://hooks.example:99999/",
        "//hooks.example/",
        "",
    ],
)
def test_anything_else_is_refused_by_name(url: str) -> None:
    with pytest.raises(Refusal) as caught:
        check_url(url)

    assert caught.value.findings[0].field == "url"


@pytest.mark.forbids
@pytest.mark.parametrize(
    "address",
    [
        "10.1.2.3",
        "192.168.0.1",
        "172.16.0.1",
        "127.0.0.1",
        "169.254.169.254",
        "0.0.0.0",
        "::1",
        "fd00::1",
        "fe80::1%eth0",
        "::ffff:10.0.0.1",
        "224.0.0.1",
        "100.64.0.1",
    ],
)
def test_a_listed_name_that_points_inside_reaches_nothing(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    resolves_to(monkeypatch, "93.184.215.14", address)

    with pytest.raises(Refusal, match="ASSAY_WEBHOOK_NETWORKS"):
        target("https://hooks.example/")


def test_the_address_that_was_checked_is_the_one_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolves_to(monkeypatch, "93.184.215.14")

    found = target("https://hooks.example/a?b=c")

    assert (found.address, found.host, found.path) == ("93.184.215.14", "hooks.example", "/a?b=c")


def test_a_private_network_can_be_allowed_by_name(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.WEBHOOK_NETWORKS = ["10.0.0.0/8"]
    resolves_to(monkeypatch, "10.1.2.3")

    assert target("https://hooks.example/").address == "10.1.2.3"
