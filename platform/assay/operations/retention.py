"""Let go of bundles by a policy, in two steps: the plan is shown, then carried out by its digest.

What a review or a finding cites never goes, nor anything of a run that still goes on. The row of a bundle,
its readings and all that was said of it stay; a record of the removal is written before the first byte goes.
"""

import fcntl
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from assay.archive.errors import ArchiveError
from assay.archive.paths import Home
from assay.archive.remote.fetching import forget
from assay.archive.remote.location import Remote
from assay.ledger.models import Bundle
from assay.operations.citations import cited
from assay.operations.models import Removal
from assay.operations.trimming import remove_copy
from runners.protocol import manifest
from runners.protocol.events import LIVE_STATES

A_FEW = 50  # records written in one transaction


class RefusedPolicy(ArchiveError):
    """A policy that says nothing, or a plan that is no longer what was shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What may go. Each criterion that is given must hold; at least one must be given."""

    older_than_s: int | None = None
    larger_than_bytes: int | None = None
    states: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # only runs or studies that bear one of them
    keep_tags: tuple[str, ...] = ()  # never those that bear one of them
    keep_total_bytes: int | None = (
        None  # the oldest of what matches go until this much is left in all
    )

    @property
    def says_something(self) -> bool:
        rest = asdict(self)
        del rest["keep_tags"]
        return any(value not in (None, ()) for value in rest.values())

    def document(self) -> dict[str, Any]:
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    digest: str
    run: str
    bytes: int
    sealed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would go, and what the policy names but is cited. ``digest`` is over policy and list."""

    policy: Policy
    going: tuple[Candidate, ...]
    protected: Mapping[str, list[str]]

    @property
    def bytes(self) -> int:
        return sum(c.bytes for c in self.going)

    @property
    def digest(self) -> str:
        document = {"policy": self.policy.document(), "going": [c.digest for c in self.going]}
        return hashlib.sha256(manifest.canonical(document)).hexdigest()


def plan(policy: Policy, *, now: datetime | None = None) -> Plan:
    """Raises RefusedPolicy for a policy without a criterion: it would let go of everything."""
    if not policy.says_something:
        raise RefusedPolicy(
            "policy: nothing (allowed: an age, a size, a state, a tag or a total). Without one, everything "
            "would go"
        )
    named = _named(policy, now or datetime.now(UTC))
    cites = cited()
    protected = {row.digest: cites[row.digest] for row in named if row.digest in cites}
    free = [row for row in named if row.digest not in cites]
    return Plan(
        policy=policy,
        going=tuple(_candidate(row) for row in _down_to_total(policy, free)),
        protected=protected,
    )


def _named(policy: Policy, now: datetime) -> list[Bundle]:
    """Bundles with files that the policy names, oldest first."""
    found = _with_files().exclude(run__state__in=[s.value for s in LIVE_STATES])
    if policy.older_than_s is not None:
        found = found.filter(sealed_at__lt=now - timedelta(seconds=policy.older_than_s))
    if policy.larger_than_bytes is not None:
        found = found.filter(bytes__gt=policy.larger_than_bytes)
    if policy.states:
        found = found.filter(state__in=policy.states)
    rows = list(found.select_related("run__study").order_by("sealed_at", "digest"))
    if policy.tags:
        wanted = _tagged(policy.tags)
        rows = [row for row in rows if wanted(row)]
    if policy.keep_tags:
        kept = _tagged(policy.keep_tags)
        rows = [row for row in rows if not kept(row)]
    return rows


def _with_files() -> QuerySet[Bundle]:
    return Bundle.objects.filter(removal=None)


def _tagged(tags: tuple[str, ...]) -> Callable[[Bundle], bool]:
    """Whether a bundle's run or study bears one of the tags, in its declaration or given since."""
    given = set(
        Bundle.objects.filter(
            Q(run__tags__name__in=tags) | Q(run__study__added_tags__name__in=tags)
        ).values_list("digest", flat=True)
    )

    def bears(row: Bundle) -> bool:
        declared = row.run.study.tags if row.run is not None else []
        return row.digest in given or bool(set(declared) & set(tags))

    return bears


def _down_to_total(policy: Policy, free: list[Bundle]) -> list[Bundle]:
    if policy.keep_total_bytes is None:
        return free
    total = sum(_with_files().values_list("bytes", flat=True))
    going: list[Bundle] = []
    for row in free:
        if total <= policy.keep_total_bytes:
            break
        going.append(row)
        total -= row.bytes
    return going


def _candidate(row: Bundle) -> Candidate:
    return Candidate(
        digest=row.digest,
        run=str(row.run_id or ""),
        bytes=row.bytes,
        sealed_at=row.sealed_at,
    )


def carry_out(shown: str, policy: Policy, home: Home, remote: Remote | None, *, by: str) -> Plan:
    """Let go of what the plan of that digest lists. Raises RefusedPolicy if it is another one by now.

    A removal that was cut is finished by the next call: its record is there, its files may be.
    """
    with alone(home):
        found = plan(policy)
        if found.digest != shown:
            raise RefusedPolicy(
                f"plan: {shown[:12]} (allowed: {found.digest[:12]}, what the policy names now). Look at the "
                "plan again: runs were sealed, removed or cited since"
            )
        for start in range(0, len(found.going), A_FEW):
            _let_go(found.going[start : start + A_FEW], found, home, remote, by=by)
        finish_cut(home, remote)
    return found


def _let_go(
    some: Sequence[Candidate], found: Plan, home: Home, remote: Remote | None, *, by: str
) -> None:
    with transaction.atomic():
        # Asked again in the same breath: a review may have been opened since the plan was made.
        cites = cited()
        free = [c for c in some if c.digest not in cites]
        Removal.objects.bulk_create(
            Removal(
                bundle_id=candidate.digest,
                bytes=candidate.bytes,
                policy=found.policy.document(),
                plan=found.digest,
                by=by,
            )
            for candidate in free
        )
    for candidate in free:
        _remove_files(candidate.digest, home, remote)


def finish_cut(home: Home, remote: Remote | None) -> int:
    """Files that lie here although their removal is on record; how many bundles that were."""
    left = [
        digest
        for digest in Removal.objects.values_list("bundle_id", flat=True)
        if home.bundle(digest).exists()
    ]
    for digest in left:
        _remove_files(digest, home, remote)
    return len(left)


def _remove_files(digest: str, home: Home, remote: Remote | None) -> None:
    if remote is not None:
        forget(remote, digest)
    if home.bundle(digest).exists():
        remove_copy(home, home.bundle(digest))


@contextmanager
def alone(home: Home) -> Iterator[None]:
    """Not while a backup is copying what would go, nor beside another removal."""
    home.root.mkdir(parents=True, exist_ok=True)
    with (home.root / "retention.lock").open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
