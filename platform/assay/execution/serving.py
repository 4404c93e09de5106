"""This process as a worker: registered while it serves, and what it offers, looked at when it changes."""

import logging
import threading

from assay.archive.paths import Home
from assay.execution import offers, registration
from assay.execution.machine import this_worker
from assay.execution.offers import Offer
from assay.execution.registration import SignsOfLife

log = logging.getLogger(__name__)


def here(home: Home, queues: list[str]) -> Offer:
    """What this machine offers, for a command that carries out its own runs. Raises NoOffer."""
    found = offers.look(home, queues)
    registration.keep_devices(found)
    return found


class Serving:
    """Registers when it is first asked what it offers; an engine that was installed since is seen then."""

    def __init__(self, home: Home, queues: list[str]) -> None:
        self._home = home
        self._queues = queues
        self._lock = threading.Lock()
        self._offer: Offer | None = None
        self._signs: SignsOfLife | None = None
        self._looked_at_engines = 0

    def offer(self) -> Offer:
        with self._lock:
            engines = self._engines_changed_at()
            if self._offer is None or engines != self._looked_at_engines:
                self._look()
                self._looked_at_engines = engines
            assert self._offer is not None
            return self._offer

    def stop(self) -> None:
        with self._lock:
            if self._signs is not None:
                self._signs.stop()
                self._signs = None

    def _look(self) -> None:
        self._offer = offers.look(self._home, self._queues)
        if self._signs is not None:
            self._signs.stop()
        signs = SignsOfLife(this_worker(), self._offer)
        signs.start()
        self._signs = signs
        log.info(
            "serving %s with %s and %s",
            ", ".join(self._queues),
            ", ".join(device.name for device in self._offer.devices),
            ", ".join(f"{engine.key} {engine.version}" for engine in self._offer.engines),
        )

    def _engines_changed_at(self) -> int:
        try:
            return (self._home.root / "engines").stat().st_mtime_ns
        except OSError:
            return 0
