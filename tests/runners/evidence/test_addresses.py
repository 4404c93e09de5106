"""A name on the allowlist may not lead to this machine or to a cloud's metadata."""

import pytest

from runners.evidence.addresses import pinned
from runners.protocol.errors import EnvironmentLacks, Refused


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("models.example", "127.0.0.1"),
        ("models.example", "::1"),
        ("models.example", "::ffff:127.0.0.1"),
        ("models.example", "169.254.169.254"),
        ("169.254.169.254", "169.254.169.254"),
        ("models.example", "0.0.0.0"),
        ("models.example", "224.0.0.1"),
        ("models.example", "fe80::1%2"),
    ],
)
def test_an_address_that_the_name_cannot_mean_is_refused(host: str, address: str) -> None:
    with pytest.raises(Refused) as caught:
        pinned(host, 80, lookup=lambda _host, _port: ["192.0.2.7", address])

    assert caught.value.finding.field == "engine.environment.url"
    assert address in caught.value.finding.seen


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("models.example", "192.0.2.7"),
        ("models.lan", "10.1.2.3"),
        ("localhost", "127.0.0.1"),
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
    ],
)
def test_an_address_that_is_meant_is_pinned(host: str, address: str) -> None:
    assert pinned(host, 80, lookup=lambda _host, _port: [address]) == (address,)


def test_a_name_that_does_not_resolve_is_what_the_machine_lacks() -> None:
    def nobody(_host: str, _port: int) -> list[str]:
        raise OSError("Name or service not known")

    with pytest.raises(EnvironmentLacks, match=r"models\.example"):
        pinned("models.example", 80, lookup=nobody)
