"""Rejected attempts (429 or 503 before content), counted at the level that gave them where it shows.

Evidence is what stands in the reply itself. An error that was written as JSON comes from a server that speaks
the API: the engine's front end, whatever relayed it. A page (HTML or plain text) under the name of a gateway
is the gateway's own. Anything else shows no level: it is counted all the same, as not evidenced. A level that
gave none is absent here, which says nothing of queues that reject without a reply.
"""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import TypedDict

from assay.analysis.columns import only, where
from assay.analysis.wire.attempt import Attempt
from runners.protocol.events import ClientState

_GATEWAYS = (
    "nginx",
    "openresty",
    "envoy",
    "haproxy",
    "traefik",
    "caddy",
    "apache",
    "varnish",
    "kong",
)
_GATEWAYS_ELSEWHERE = ("cloudflare", "awselb", "google frontend", "akamai")


class RejectionLevel(StrEnum):
    engine = "engine front end"
    gateway = "gateway"
    unknown = "not evidenced"


class Rejections(TypedDict):
    """``server`` is the header of that name; null where none came."""

    level: str
    status: int | None
    server: str | None
    attempts: int


def level_of(attempt: Attempt) -> RejectionLevel:
    """The level that the reply of a rejected attempt shows."""
    content_type = attempt.headers.get("content-type", "").lower()
    if "json" in content_type:
        return RejectionLevel.engine
    server = attempt.headers.get("server", "").lower()
    is_page = content_type.startswith(("text/html", "text/plain"))
    if is_page and server.startswith((*_GATEWAYS, *_GATEWAYS_ELSEWHERE)):
        return RejectionLevel.gateway
    return RejectionLevel.unknown


def rejections(attempts: Sequence[Attempt]) -> list[Rejections]:
    """Counts by level, status and server name, in that order."""
    rejected = where(attempts, "state", lambda state: state is ClientState.rejected)
    counted = Counter(
        (level_of(a).value, a.status, a.headers.get("server")) for a in only(attempts, rejected)
    )
    ordered = sorted(counted.items(), key=lambda item: [str(part) for part in item[0]])
    return [
        Rejections(level=level, status=status, server=server, attempts=count)
        for (level, status, server), count in ordered
    ]
