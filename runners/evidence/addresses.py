"""The addresses behind a host name, looked up once and pinned for the run.

A name on the allowlist says whom to reach, its addresses say where requests really go: a name that comes to
mean this machine, or the link-local address of a cloud's metadata, is refused whoever listed it.
"""

import ipaddress
import socket
from collections.abc import Callable, Sequence

from runners.protocol.errors import EnvironmentLacks, Finding, Refused

LOOPBACK_NAMES = ("localhost",)
FIELD = "engine.environment.url"

Lookup = Callable[[str, int], Sequence[str]]


def look_up(host: str, port: int) -> list[str]:
    """The addresses of a name, by the system's name service, in its order."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def pinned(host: str, port: int, *, lookup: Lookup = look_up) -> tuple[str, ...]:
    """The addresses to connect to. Raises Refused if one of them may not be meant by this name."""
    try:
        addresses = tuple(lookup(host, port))
    except OSError as error:
        raise EnvironmentLacks(
            Finding(
                field=FIELD,
                seen=f"{host}: {error}",
                allowed="a host name that resolves",
                remedy="Check the address and the name service.",
            )
        ) from error
    for address in addresses:
        if (what := _forbidden(host, address)) is not None:
            raise Refused(
                Finding(
                    field=FIELD,
                    seen=f"{host} is {address}, {what}",
                    allowed="an address of the network; loopback only by its own name or number",
                    remedy="Give the address itself if it is meant, or mend the name service.",
                )
            )
    return addresses


def _forbidden(host: str, address: str) -> str | None:
    ip = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(ip, "ipv4_mapped", None)
    ip = mapped or ip
    if ip.is_unspecified or ip.is_multicast or ip.is_link_local:
        return "which no endpoint has"
    if ip.is_loopback and host not in LOOPBACK_NAMES and not _is_number(host):
        return "this machine itself"
    return None


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
