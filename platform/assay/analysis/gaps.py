"""Observation gaps: what is not known, whose conclusion it affects, what would close it."""

from collections.abc import Iterable, Sequence

import numpy as np

from assay.analysis.columns import Mask, number, texts, values, where
from assay.analysis.iterations import IterationLog
from assay.analysis.server_record import ServerSummary
from assay.analysis.token_counts import disagreement_words
from assay.analysis.wire.attempt import Attempt
from runners.protocol.documents import Gap, IdentityItem
from runners.protocol.events import EvidenceStrength

BATCH = "internal queue and batch-assembly instants"
PATH = "actual execution path"
RELEASE = "release level"
SERVER = "server records"


def gap(what: str, *, affects: str, needed: str) -> Gap:
    return Gap(what=what, affects=affects, needed=needed, state="open")


def observation_gaps(
    attempts: Sequence[Attempt],
    server: ServerSummary,
    iterations: IterationLog | None,
    identity: Sequence[IdentityItem],
) -> list[Gap]:
    """What these observations leave open, in the order: server side, path, release, counts, clocks."""
    found: list[Gap] = []
    if attempts and not server.attempts:
        found.append(
            gap(
                SERVER,
                affects="server ledger, ghost load, received count",
                needed="the engine's own event record, joined by attempt id",
            )
        )
    if iterations is None or not (iterations.steps or iterations.counted):
        found.append(
            gap(
                BATCH,
                affects="queue wait and batch breakdown of every attempt",
                needed="iteration records of the engine (E2)",
            )
        )
    if not _path_traced(identity):
        found.append(
            gap(
                PATH,
                affects="any statement on kernels or back ends",
                needed="a trace of this run with call correlation and shapes (E2)",
            )
        )
    if not server.shows_release:
        found.append(
            gap(
                RELEASE,
                affects="resource ledger, cost of cancelled and timed-out attempts",
                needed="release events of the engine by level (E2)",
            )
        )
    found += _count_gaps(attempts)
    found += _clock_gaps(attempts, server)
    return found


def merged(*groups: Iterable[Gap]) -> list[Gap]:
    """All gaps, each once (the first of equal ``what`` and ``affects`` stands)."""
    seen: dict[tuple[str, str], Gap] = {}
    for group in groups:
        for entry in group:
            seen.setdefault((entry["what"], entry["affects"]), entry)
    return list(seen.values())


def _path_traced(identity: Sequence[IdentityItem]) -> bool:
    return any(
        item["item"] == "attention_gemm_backend"
        and item["strength"] == EvidenceStrength.trace.value
        for item in identity
    )


def _count_gaps(attempts: Sequence[Attempt]) -> list[Gap]:
    found = []
    has_content = number(attempts, "reply.content_events")[0] > 0
    uncounted = _lacking(attempts, "output_tokens", has_content)
    if uncounted:
        found.append(
            gap(
                f"output token counts of {uncounted} attempt(s)",
                affects="TPOT and token throughput",
                needed="usage or token ids from the server",
            )
        )
    untimed = _lacking(attempts, "reply.counted_tokens", has_content)
    if untimed:
        found.append(
            gap(
                f"arrival of single tokens in {untimed} attempt(s)",
                affects="gaps between tokens; only intervals at the layer of the client socket are known",
                needed="token ids in every content event",
            )
        )
    if words := disagreement_words(attempts):
        found.append(
            gap(
                words,
                affects="every figure per token: it holds for the count it was taken from",
                needed="an explanation by the server's own record (end tokens, stripped marks, batched ids)",
            )
        )
    compressed = np.count_nonzero(
        where(attempts, "headers", lambda headers: "content-encoding" in headers)
    )
    if compressed:
        found.append(
            gap(
                f"response compression was on in {compressed} attempt(s)",
                affects="chunk times: a compressor may hold bytes back",
                needed="the same run without compression",
            )
        )
    unrequested = np.count_nonzero(~texts(attempts, "task_id")[1])
    if unrequested:
        found.append(
            gap(
                f"task ids of {unrequested} attempt(s)",
                affects="task ledger",
                needed="task_id in the record",
            )
        )
    return found


def _lacking(attempts: Sequence[Attempt], name: str, among: Mask) -> int:
    return int(np.count_nonzero(among & ~number(attempts, name)[1]))


def _clock_gaps(attempts: Sequence[Attempt], server: ServerSummary) -> list[Gap]:
    foreign = sorted(server.uncalibrated - set(values(attempts, "clock_domain")))
    found = [
        gap(
            f"mapping of clock domain {domain} onto the client's",
            affects="every statement across client and server time, ghost load included",
            needed="four-timestamp exchanges, or one clock domain",
        )
        for domain in foreign
    ]
    if server.unjoined:
        found.append(
            gap(
                f"{server.unjoined} id(s) in the server record without an attempt",
                affects="reconciliation",
                needed="the client's record of these calls, or the id the engine was given",
            )
        )
    for domain, count in sorted(server.other_domains.items()):
        found.append(
            gap(
                f"{count} server event(s) in a second clock domain {domain}",
                affects="server lanes",
                needed="one clock domain per attempt, or a mapping between them",
            )
        )
    return found
