"""The replies of a sealed run, found again by what was asked.

A reply is the bytes that the client's socket gave, each with its time from the request's last byte. It is
found by the prompt alone: the messages of a chat, the text or token ids of a completion. The same prompt sent
again gets the next reply that was recorded for it. What was not recorded is not made up.
"""

import hashlib
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from runners.protocol import layout, manifest
from runners.protocol.errors import Finding, Refused
from runners.protocol.events import WireKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """``chunks``: offset in ns and bytes, in order. ``cut_ns``: when the connection broke, if it did."""

    attempt_id: str
    chunks: tuple[tuple[int, bytes], ...]
    cut_ns: int | None


class Recording:
    """The replies of one bundle. Raises Refused unless it is whole, unchanged and the one that is pinned."""

    def __init__(self, bundle: Path, *, digest: str) -> None:
        self.header = _verified(bundle, digest)
        self.total = 0
        self._replies: dict[str, deque[Reply]] = defaultdict(deque)
        for key, reply in _recorded(bundle):
            self._replies[key].append(reply)
            self.total += 1

    @property
    def left(self) -> int:
        return sum(map(len, self._replies.values()))

    def take(self, body: Mapping[str, Any]) -> Reply | None:
        """The next reply to this request body; None when none is left."""
        key = asked(body)
        replies = self._replies.get(key) if key else None
        return replies.popleft() if replies else None


def asked(body: Mapping[str, Any]) -> str | None:
    """What identifies a prompt: the digest of its messages, text or token ids; None without one of them."""
    for member in ("messages", "prompt"):
        if member in body:
            return hashlib.sha256(manifest.canonical(body[member])).hexdigest()
    return None


def _verified(bundle: Path, digest: str) -> Mapping[str, Any]:
    verification = manifest.verify(bundle)
    problems = list(verification.problems)
    wanted = (layout.WIRE_FOLDER, layout.ATTEMPTS, layout.PLAN, layout.PROMPTS)
    problems += [f"{path}: withheld" for path in verification.withheld if path.startswith(wanted)]
    if problems:
        raise _refused(
            "engine.settings.bundle", "; ".join(problems[:3]), "a whole, unchanged bundle"
        )
    if verification.bundle_digest != digest:
        raise _refused("engine.settings.bundle_digest", str(verification.bundle_digest), digest)
    return manifest.read(bundle)


def _recorded(bundle: Path) -> Iterator[tuple[str, Reply]]:
    """Every attempt that was sent, with the key of what it asked, in the order of sending."""
    prompts = {
        row["prompt_ref"]: row
        for row in pq.read_table(
            bundle / layout.PROMPTS, columns=["prompt_ref", "messages", "expanded", "token_ids"]
        ).to_pylist()
    }
    plan = {
        row["request_id"]: row
        for row in pq.read_table(
            bundle / layout.PLAN, columns=["request_id", "endpoint", "prompt_ref"]
        ).to_pylist()
    }
    chunks = _wire(bundle)
    attempts = pq.read_table(
        bundle / layout.ATTEMPTS,
        columns=["attempt_id", "request_id", "sent_ns", "ended_ns", "end"],
    ).to_pylist()
    for attempt in sorted(attempts, key=lambda row: row["sent_ns"] or 0):
        row, sent = plan.get(attempt["request_id"]), attempt["sent_ns"]
        if row is None or sent is None:
            continue
        key = _planned(str(row["endpoint"]), prompts[row["prompt_ref"]])
        if key is None:
            continue
        broke = attempt["end"] == WireKind.error and attempt["ended_ns"] is not None
        yield (
            key,
            Reply(
                attempt_id=attempt["attempt_id"],
                chunks=tuple((t - sent, data) for t, data in chunks[attempt["attempt_id"]]),
                cut_ns=attempt["ended_ns"] - sent if broke else None,
            ),
        )


def _planned(endpoint: str, prompt: Mapping[str, Any]) -> str | None:
    """The key of a planned prompt, as the client would write it into a body of this endpoint."""
    if endpoint == "chat":
        return str(prompt["prompt_ref"])  # it is the digest of the messages already
    if endpoint == "completions":
        ids = prompt["token_ids"]
        return asked({"prompt": prompt["expanded"] if ids is None else list(ids)})
    return None


def _wire(bundle: Path) -> dict[str, list[tuple[int, bytes]]]:
    found: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
    for path in sorted((bundle / layout.WIRE_FOLDER).glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches():
            columns = (batch.column(name).to_pylist() for name in ("attempt_id", "t_ns", "data"))
            for attempt, t_ns, data in zip(*columns, strict=True):
                found[attempt].append((t_ns, data))
    for reads in found.values():
        reads.sort(key=lambda read: read[0])
    return found


def _refused(field: str, seen: str, allowed: str) -> Refused:
    return Refused(
        Finding(
            field=field,
            seen=seen,
            allowed=allowed,
            remedy="Name a sealed bundle with its wire bytes, and pin its digest (assay show RUN).",
        )
    )
