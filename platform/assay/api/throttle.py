"""Bounds on what costs much: so many a minute for each person, counted in each web process."""

import time

from django.core.cache import cache
from django.http import HttpRequest
from ninja.throttling import BaseThrottle

WINDOW_S = 60


class PerMinute(BaseThrottle):
    """Counts in whole minutes of the clock; ``kind`` keeps one sort of request apart from another."""

    def __init__(self, kind: str, limit: int) -> None:
        self.kind = kind
        self.limit = limit

    def allow_request(self, request: HttpRequest) -> bool:
        minute = int(time.time() // WINDOW_S)
        key = f"assay-api-{self.kind}-{request.user.pk}-{minute}"
        cache.add(key, 0, timeout=2 * WINDOW_S)
        return cache.incr(key) <= self.limit

    def wait(self) -> float:
        return WINDOW_S - time.time() % WINDOW_S + 1
