"""What an installation allows a declaration to reach: folders with artifacts, hosts with engines."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """``artifact_roots`` are absolute folders; ``url_hosts`` are exact host names of engines elsewhere."""

    artifact_roots: tuple[str, ...] = ()
    url_hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "::1")
