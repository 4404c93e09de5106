"""One HTTP request to the engine's control endpoints, outside the measured path."""

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back: ``status`` is null when nothing did, and ``error`` then says why."""

    status: int | None
    body: bytes
    error: str | None

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
) -> Reply:
    """Ask once on a connection of its own; proxies of the environment are not used."""
    url = urlsplit(base_url)
    if url.hostname is None:
        return Reply(status=None, body=b"", error=f"no host in {base_url!r}")
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = kind(url.hostname, url.port, timeout=timeout_s)
    payload = None if body is None else json.dumps(body).encode()
    headers = {"Accept": "*/*"} | ({"Content-Type": "application/json"} if payload else {})
    try:
        connection.request(method, url.path.rstrip("/") + path, body=payload, headers=headers)
        response = connection.getresponse()
        return Reply(status=response.status, body=response.read(limit_bytes), error=None)
    except (OSError, http.client.HTTPException) as error:
        return Reply(status=None, body=b"", error=f"{type(error).__name__}: {error}")
    finally:
        connection.close()
