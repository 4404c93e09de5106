"""Counts of attempts at every station, and each difference explained or shown as unexplained."""

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np

from assay.analysis.columns import number, only, texts, values
from assay.analysis.documents import Reconciliation
from assay.analysis.server_record import AGAIN
from assay.analysis.tries import request_codes
from assay.analysis.wire.attempt import Attempt
from runners.protocol.events import ClientState


def reconcile(
    attempts: Sequence[Attempt],
    *,
    offered: int | None,
    received: Collection[str] | None,
    again: int = 0,
    unplanned: Collection[str] = (),
) -> Reconciliation:
    """``offered`` counts planned requests (None: the requests seen). ``received`` holds the attempts that a
    server record shows as received; None when there is no server record at all. ``again`` counts deliveries
    of an attempt beyond its first; ``unplanned`` are requests that the client made while the run went.
    """
    states = Counter(values(attempts, "state"))
    codes = request_codes(attempts)
    requests = len(np.unique(codes[~texts(attempts, "retry_of")[1]]))
    first_tries = len(np.unique(codes))
    offered = first_tries if offered is None else offered
    asked_again = len({a.ids.request_id for a in attempts} & set(unplanned)) if unplanned else 0
    # Anything beyond a schedule shows that the client made the attempt.
    was_created, was_sent = (number(attempts, name)[1] for name in ("start_ns", "sent_ns"))
    created = int(np.count_nonzero(was_created))
    differences = []
    retries = len(attempts) - first_tries
    if retries:
        differences.append(
            f"created exceeds requests by {retries}: retries of {retries} attempt(s)"
        )
    if asked_again:
        differences.append(
            f"requests seen exceed offered by {asked_again}: answers without their form, asked for again"
        )
    planned = first_tries - asked_again
    if offered > planned:
        differences.append(f"offered exceeds requests seen by {offered - planned}: never created")
    elif offered < planned:
        differences.append(
            f"unexplained: {planned - offered} request(s) seen that were not offered"
        )
    if first_tries > requests:
        differences.append(f"unexplained: {first_tries - requests} request(s) seen only as retries")
    if len(attempts) > created:
        differences.append(
            f"offered exceeds created by {len(attempts) - created}: scheduled, then nothing recorded"
        )
    differences += _not_sent(only(attempts, was_created & ~was_sent))
    if received is not None:
        differences += _not_received(only(attempts, was_sent), received)
    if again:
        differences.append(f"deliveries exceed received by {again}: {AGAIN}")
    return Reconciliation(
        offered=offered,
        created=created,
        sent=int(np.count_nonzero(was_sent)),
        received=None if received is None else len(received),
        completed=states[ClientState.completed],
        failed=states[ClientState.failed],
        timeout=states[ClientState.timeout],
        cancelled=states[ClientState.cancelled],
        rejected=states[ClientState.rejected],
        unfinalised=states[ClientState.unfinalised],
        differences=differences,
    )


def _not_sent(missing: Sequence[Attempt]) -> list[str]:
    by_reason = Counter((a.failure or a.state.value).partition(":")[0] for a in missing)
    return [
        f"created exceeds sent by {count}: ended before the send ({reason})"
        if reason != ClientState.completed.value
        else f"unexplained: {count} completed attempt(s) without a send"
        for reason, count in sorted(by_reason.items())
    ]


def _not_received(sent: Sequence[Attempt], received: Collection[str]) -> list[str]:
    seen = set(received)
    missing = [a for a in sent if a.attempt_id not in seen]
    lost = [
        a for a in missing if (a.failure or "").startswith(("connection_lost", "connect", "tls"))
    ]
    differences = []
    if lost:
        differences.append(f"sent exceeds received by {len(lost)}: the connection was lost first")
    if len(missing) > len(lost):
        names = ", ".join(a.attempt_id for a in missing if a not in lost)[:200]
        differences.append(
            f"unexplained: {len(missing) - len(lost)} sent attempt(s) without a server record ({names})"
        )
    unsent = seen - {a.attempt_id for a in sent}
    if unsent:
        differences.append(
            f"unexplained: {len(unsent)} attempt(s) received by the server but not sent by the client"
        )
    return differences
