"""Where a webhook may go: hosts that the installation lists, by TLS, and never into a network by surprise.

The name is resolved once and the connection is made to that very address, so that a name cannot mean one
thing when it is checked and another when it is used.
"""

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from experiments.errors import Refusal, refuse

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MAX_URL = 500
_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A checked address: ``address`` is what is connected to, ``host`` what TLS and the request name."""

    scheme: str
    host: str
    port: int
    address: str
    path: str


def check_url(url: str) -> SplitResult:
    """The parts of a webhook's URL. Raises Refusal unless the installation allows it; resolves nothing."""
    parts, port = _split(url)
    host = (parts.hostname or "").lower()
    if parts.scheme not in _PORTS or not host or parts.username or parts.fragment:
        raise _refused(url, "https://host/path", "Give a plain URL without user or fragment.")
    if parts.scheme == "http" and host not in LOOPBACK:
        raise _refused(url, "https", "Only a receiver on this machine may be reached without TLS.")
    allowed = settings.WEBHOOK_HOSTS
    listed = host in allowed and (port == _PORTS[parts.scheme] or host in LOOPBACK)
    if not listed and f"{host}:{port}" not in allowed:
        raise _refused(
            url,
            ", ".join(allowed) or "no host is listed",
            "Whoever runs the installation lists hosts, with a port where it is not 443, in "
            "ASSAY_WEBHOOK_HOSTS.",
        )
    return parts


def target(url: str) -> Target:
    """Resolve a URL for one request. Raises Refusal for an address that may not be reached, OSError."""
    parts = check_url(url)
    _, port = _split(url)
    host = (parts.hostname or "").lower()
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in found]
    for address in addresses:
        if not _may_be_reached(host, address):
            raise _refused(
                f"{host} is {address}",
                "a public address, or one of ASSAY_WEBHOOK_NETWORKS",
                "A listed name that points into a private network reaches nothing.",
            )
    path = parts.path or "/"
    return Target(
        scheme=parts.scheme,
        host=host,
        port=port,
        address=addresses[0],
        path=f"{path}?{parts.query}" if parts.query else path,
    )


def _may_be_reached(host: str, address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    if mapped := getattr(found, "ipv4_mapped", None):
        found = mapped
    if found.is_loopback:
        return host in LOOPBACK
    networks = [ipaddress.ip_network(network) for network in settings.WEBHOOK_NETWORKS]
    if any(found in network for network in networks if network.version == found.version):
        return True
    return found.is_global and not found.is_multicast


def _split(url: str) -> tuple[SplitResult, int]:
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError as error:
        raise _refused(url, "https://host/path", f"It cannot be read: {error}.") from error
    if len(url) > MAX_URL or any(character.isspace() or ord(character) < 33 for character in url):
        raise _refused(url[:80], f"at most {MAX_URL} characters without spaces", "Shorten it.")
    return parts, port


def _refused(seen: str, allowed: str, remedy: str) -> Refusal:
    return refuse(field="url", seen=seen, allowed=allowed, remedy=remedy)
