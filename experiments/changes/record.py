"""A version record: what was read of one release of one engine, where, when, and how strongly.

Whether a run confirmed it is no part of a record: that is a link in the database, made by the run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from packaging.version import Version

from experiments.changes.vocabulary import (
    TRIPPING,
    VERIFIED,
    ChangeKind,
    Label,
    Reading,
    Scope,
    Status,
    Subject,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What was read. A page that moves (stable, latest, a branch) floats until a commit or copy pins it."""

    id: str
    title: str
    url: str
    floating: bool
    pinned_by: str | None  # a commit, an archived copy, or the version in the file's own name


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """A range of days, both ends included: often only the month of a release is known."""

    first: date
    last: date

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """``names`` are as a user writes them. ``announced_removal`` announces; it removes nothing."""

    subject: Subject
    names: tuple[str, ...]
    kind: ChangeKind
    reading: Reading
    use: str | None
    announced_removal: str | None
    note: str | None

    @property
    def trips(self) -> bool:
        return self.kind in TRIPPING


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRecord:
    """``components`` are versions of parts (a library, a model runner); none of them is the product's."""

    engine: str
    product: str
    version: str
    status: Status
    released: Days | None
    released_basis: str
    consulted: date
    body_verified: bool
    verified_part: str
    source: Source
    label: Label
    reading: Reading
    scope: Scope
    content: str
    changes: tuple[Change, ...]
    components: Mapping[str, str]
    known_issues: tuple[str, ...]

    @property
    def order(self) -> Version:
        return Version(self.version)

    @property
    def id(self) -> str:
        """The key of the database's links: ``vllm 0.32.0``."""
        return f"{self.engine} {self.version}"

    @property
    def is_prerelease(self) -> bool:
        return self.status not in (Status.ga, Status.maintenance)

    def is_evidence(self, change: Change) -> bool:
        """Whether a change may be acted on, not only told: verified, of this version, on no floating page."""
        return change.reading in VERIFIED and not self.source.floating and not self.is_prerelease
