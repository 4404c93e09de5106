"""Bring what was sealed to the archive, in the order it was sealed, and keep account of it.

Safe to call from anywhere at any time: one process of a machine pushes, others find it busy.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db.models import F, QuerySet
from django.db.models.functions import Now

from assay.archive import store
from assay.archive.errors import ArchiveError
from assay.archive.paths import Home
from assay.archive.remote.location import OutOfReach, Remote
from assay.archive.remote.sending import send
from assay.ledger.models import Bundle
from assay.operations.models import Upload

A_FEW = 50  # of one call, so that a tick ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """``left`` counts bundles of this machine that are still to be brought."""

    sent: int
    bytes_sent: int
    failed: tuple[str, ...]
    left: int


def pending(remote: Remote) -> QuerySet[Bundle]:
    """Bundles that the archive is not known to hold, oldest first; those let go of are not wanted."""
    there = Upload.objects.filter(archive=remote.url, sent_at__isnull=False).values("bundle_id")
    return Bundle.objects.filter(removal=None).exclude(digest__in=there).order_by("sealed_at")


def push(home: Home, remote: Remote, *, limit: int = A_FEW) -> Pushed | None:
    """None if another process pushes already. An archive out of reach ends the call: all would fail."""
    with _alone(home) as is_ours:
        if not is_ours:
            return None
        sent, bytes_sent, failed = 0, 0, list[str]()
        here = [b for b in pending(remote) if home.bundle(b.digest).is_dir()]
        for bundle in here[:limit]:
            try:
                bytes_sent += _push_one(home, remote, bundle)
                sent += 1
            except OutOfReach as error:
                failed.append(str(error))
                break
            except ArchiveError as error:
                failed.append(str(error))
    return Pushed(sent=sent, bytes_sent=bytes_sent, failed=tuple(failed), left=len(here) - sent)


def _push_one(home: Home, remote: Remote, bundle: Bundle) -> int:
    row, _ = Upload.objects.get_or_create(bundle=bundle, archive=remote.url)
    own = Upload.objects.filter(id=row.id)
    try:
        done = send(remote, store.get(home, bundle.digest))
    except ArchiveError as error:
        own.update(tries=F("tries") + 1, problem=str(error), tried_at=Now())
        raise
    own.update(
        tries=F("tries") + 1,
        problem="",
        tried_at=Now(),
        sent_at=Now(),
        bytes_sent=F("bytes_sent") + done.bytes_sent,
    )
    return done.bytes_sent


@contextmanager
def _alone(home: Home) -> Iterator[bool]:
    home.root.mkdir(parents=True, exist_ok=True)
    with (home.root / "push.lock").open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True
