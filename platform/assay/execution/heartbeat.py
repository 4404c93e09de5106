"""The sign of life of an execution: a thread beside the work, which also listens for a cancel."""

import logging
import threading
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections

from assay.execution import leases
from assay.execution.beside import Beside
from assay.execution.leases import Claim

log = logging.getLogger(__name__)

PROGRESS_S = 1.0  # how often progress is published, if it changed


class Heartbeat(Beside):
    """Renews a claim until the block ends; ``should_stop`` turns true on a lost lease or a cancel."""

    def __init__(self, claim: Claim) -> None:
        super().__init__("heartbeat", self._beat)
        self._claim = claim
        self._progress: Mapping[str, Any] = {}
        self.lost = False
        self.cancel_requested = False

    @property
    def should_stop(self) -> bool:
        return self.lost or self.cancel_requested

    def publish(self, progress: Mapping[str, Any]) -> None:
        """The latest progress; it goes out with the next beat."""
        self._progress = progress

    def _beat(self, over: threading.Event) -> None:
        published: Mapping[str, Any] = {}
        since_renewal = settings.HEARTBEAT_S
        pause = min(PROGRESS_S, settings.HEARTBEAT_S)
        try:
            while True:
                current = self._progress
                if current != published or since_renewal >= settings.HEARTBEAT_S:
                    if self._renew(current):
                        published = current
                    since_renewal = 0.0
                if self.lost or over.wait(pause):
                    return
                since_renewal += pause
        finally:
            connections.close_all()

    def _renew(self, progress: Mapping[str, Any]) -> bool:
        try:
            close_old_connections()
            pulse = leases.renew(self._claim, progress=progress)
        except DatabaseError as error:
            # A database that is away for a moment is no reason to stop measuring: the lease decides.
            log.warning("heartbeat of %s missed: %s", self._claim.execution_id, error)
            return False
        self.lost = not pulse.held
        self.cancel_requested = self.cancel_requested or pulse.cancel_requested
        return True
