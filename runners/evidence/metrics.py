"""One scrape of the engine's Prometheus text, kept as it came."""

import time

from runners.evidence.endpoint import ask
from runners.evidence.secrets import Redactor, Replacement

Row = tuple[int, int, str, int | None, str | None, str | None]  # as runners.protocol.tables.SCRAPES


def scrape(
    base_url: str, path: str, *, timeout_s: float, redactor: Redactor
) -> tuple[Row, list[Replacement]]:
    """Ask once. ``t_ns`` is the send; the body belongs to some moment within ``duration_ns`` after it."""
    t_ns = time.monotonic_ns()
    reply = ask(base_url, path, timeout_s=timeout_s)
    duration_ns = time.monotonic_ns() - t_ns
    clean, found = redactor.redact(reply.body)
    body = clean.decode("utf-8", "replace") if clean else None
    return (t_ns, duration_ns, path, reply.status, body, reply.error), found
