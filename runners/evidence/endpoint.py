"""One HTTP request to the engine's control endpoints, outside the measured path."""

import http.client
import json
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back: ``status`` is null when nothing did, and ``error`` then says why."""

    status: int | None
    body: bytes
    error: str | None
    headers: Mapping[str, str] = field(default_factory=dict)  # names in lower case

    @property
    def ok(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    def json(self) -> Any | None:
        try:
            return json.loads(self.body)
        except ValueError:
            return None


def ask(
    base_url: str,
    path: str,
    *,
    method: str = "GET",
    body: Mapping[str, Any] | None = None,
    timeout_s: float,
    limit_bytes: int = 16 * 2**20,
    address: str | None = None,
    bearer: str | None = None,
) -> Reply:
    """Ask once on a connection of its own; no proxy of the environment is used, no redirect followed.

    ``address`` is where to connect instead of looking the host up again; certificates are still checked
    against the host. ``bearer`` is the whole Authorization value.
    """
    url = urlsplit(base_url)
    if url.hostname is None:
        return Reply(status=None, body=b"", error=f"no host in {base_url!r}")
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = kind(url.hostname, url.port, timeout=timeout_s)
    payload = None if body is None else json.dumps(body).encode()
    headers = {"Accept": "*/*"} | ({"Content-Type": "application/json"} if payload else {})
    if bearer is not None:
        headers["Authorization"] = bearer
    try:
        if address is not None:
            connection.sock = _connected(
                connection, address, timeout_s=timeout_s, scheme=url.scheme
            )
        connection.request(method, url.path.rstrip("/") + path, body=payload, headers=headers)
        response = connection.getresponse()
        return Reply(
            status=response.status,
            body=response.read(limit_bytes),
            error=None,
            headers={name.lower(): value for name, value in response.getheaders()},
        )
    except (OSError, http.client.HTTPException) as error:
        return Reply(status=None, body=b"", error=f"{type(error).__name__}: {error}")
    finally:
        connection.close()


def _connected(
    connection: http.client.HTTPConnection, address: str, *, timeout_s: float, scheme: str
) -> socket.socket:
    raw = socket.create_connection((address, connection.port), timeout=timeout_s)
    if scheme != "https":
        return raw
    try:
        return ssl.create_default_context().wrap_socket(raw, server_hostname=connection.host)
    except BaseException:
        raw.close()
        raise
