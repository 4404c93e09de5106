"""What an installation allows a declaration to reach: folders with artifacts, hosts with engines."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Self

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """``artifact_roots`` are absolute folders; ``url_hosts`` are exact host names of engines elsewhere."""

    artifact_roots: tuple[str, ...] = ()
    url_hosts: tuple[str, ...] = LOOPBACK

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """By ``ASSAY_ARTIFACT_ROOTS`` (parted by colons) and ``ASSAY_ENDPOINT_ALLOWLIST`` (by commas)."""
        roots = environment.get("ASSAY_ARTIFACT_ROOTS", "").split(":")
        hosts = environment.get("ASSAY_ENDPOINT_ALLOWLIST", "").split(",")
        return cls(
            artifact_roots=tuple(filter(None, roots)),
            url_hosts=(*LOOPBACK, *(h.strip().lower() for h in hosts if h.strip())),
        )

    def allows_file(self, path: str) -> bool:
        """Whether the path as written lies below an allowed root; links are looked at where it is opened."""
        parts = PurePosixPath(path)
        return ".." not in parts.parts and any(
            parts.is_relative_to(root) for root in self.artifact_roots
        )
