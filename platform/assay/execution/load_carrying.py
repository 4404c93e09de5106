"""Send one share of another worker's load: fetch the plan, drive the part when told, bring back what came.

The client process is the one that a run with several of them has on its own machine, see
assay.execution.load_process. Nothing is awaited for ever: when the share is taken away or its run has ended,
the process is ended and the machine is free.
"""

import logging
import shutil
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections

from assay.execution import load_shares
from assay.execution.beside import Beside
from assay.execution.load_place import PLAN, NotShared, Place
from assay.execution.load_process import LoadProcess
from assay.execution.load_shares import ShareClaim
from assay.execution.models import OUT_FOLDER, ShareState
from assay.execution.outage import wait_out
from runners.protocol import clocks, distant, layout
from runners.protocol.workspace import Workspace, write_json

log = logging.getLogger(__name__)

_SOON_S = 0.002  # while the word to begin, or a message that ties the clocks, may come
_PAUSE_S = 0.2
_PROGRESS_S = 1.0


class ShareFailed(Exception):
    """Why this share cannot be sent, or what it captured cannot be given back."""


class ShareEnded(Exception):
    """The share was taken away, or its run has ended."""


def carry(claim: ShareClaim, *, should_stop: Callable[[], bool]) -> None:
    """Send a claimed share and end it in the database, whatever happens on the way."""
    with _SignsOfLife(claim):
        try:
            _Share(claim, should_stop).send()
        except ShareEnded as ended:
            log.warning("share %s of %s: %s", claim.process, claim.execution_id, ended)
        except (ShareFailed, NotShared) as failure:
            _fail(claim, str(failure))
        except Exception as error:
            # The boundary of a share: the run is told the cause, and no process of it is left here.
            log.exception("share %s of %s failed", claim.process, claim.execution_id)
            _fail(claim, f"{type(error).__name__}: {error}")
    wait_out(lambda: load_shares.let_go(claim))
    _clear(claim)


def _fail(claim: ShareClaim, reason: str) -> None:
    wait_out(lambda: load_shares.fail(claim, reason))


def _clear(claim: ShareClaim) -> None:
    """What was captured and is not with its run is kept: there is no other copy of it."""
    captured = any((claim.folder / OUT_FOLDER / layout.SEGMENTS_FOLDER).glob("*"))
    if not captured or load_shares.state_of(claim) == ShareState.done:
        shutil.rmtree(claim.folder, ignore_errors=True)


class _Share:
    """``_said`` is all that was said so far; a write that did not reach the database is made again."""

    def __init__(self, claim: ShareClaim, should_stop: Callable[[], bool]) -> None:
        self._claim = claim
        self._should_stop = should_stop
        self._place = Place.named(claim.document["url"], claim.document["folder"])
        self._workspace = Workspace(claim.folder / OUT_FOLDER)
        self._said: dict[str, Any] = {}
        self._is_said = True
        self._answered = 0
        self._told_at = 0.0

    def send(self) -> None:
        self._fetch_plan()
        self._say(joined=True, clock=_clock_facts())
        with LoadProcess(self._start_config(self._wait_for_drive()), self._claim.folder) as process:
            last = self._drive(process)
        files = self._place.put(
            self._workspace.root, self._captured(), under=str(self._claim.process)
        )
        self._say(last=last, files=files)
        self._wait_to_be_taken()

    def _fetch_plan(self) -> None:
        root, document = self._workspace.root, self._claim.document
        self._place.get(document["files"], root, under=PLAN)
        write_json(root / layout.CONTEXT, {"secret_names": document["secret_names"]})
        self._workspace.segments.mkdir()

    def _wait_for_drive(self) -> dict[str, Any]:
        while "drive" not in (told := self._turn()):
            time.sleep(_PAUSE_S)
        drive: dict[str, Any] = told["drive"]
        return drive

    def _start_config(self, drive: dict[str, Any]) -> Path:
        path = self._claim.folder / "shard.json"
        write_json(path, {**drive, "root": str(self._workspace.root)})
        return path

    def _drive(self, process: LoadProcess) -> dict[str, Any]:
        """Until the process has said its last word: the report, its streams, its CPU."""
        is_going = is_stopping = False
        while True:
            is_awaited = bool(self._said.get("ready")) and not is_going
            for line in process.lines(wait_s=_SOON_S if is_awaited else _PAUSE_S):
                if "report" in line:
                    return line
                self._heed(line)
            if (why := process.died()) is not None:
                raise ShareFailed(why)
            told = self._turn()
            if "go" in told and not is_going:
                _check_in_time(told["go"])
                process.say({"go": told["go"]})
                is_going = True
            if told.get("stop") and not is_stopping:
                process.say({"stop": True})
                is_stopping = True

    def _heed(self, line: dict[str, Any]) -> None:
        """What the process says on the way. How far it is goes out once a second."""
        if "done" not in line:
            self._say(**line)
        elif time.monotonic() - self._told_at > _PROGRESS_S:
            self._told_at = time.monotonic()
            self._say(**line)

    def _wait_to_be_taken(self) -> None:
        """Answer until the run has what was captured."""
        while True:
            try:
                self._turn()
            except ShareEnded:
                if load_shares.state_of(self._claim) == ShareState.done:
                    return
                raise
            time.sleep(_SOON_S)

    def _captured(self) -> list[str]:
        root = self._workspace.root
        found = [*self._workspace.segments.glob("*"), *root.glob("redactions-*.jsonl")]
        return [str(path.relative_to(root)) for path in sorted(found)]

    def _turn(self) -> dict[str, Any]:
        """What was told; a message that ties the clocks is answered at once. Raises ShareEnded."""
        if self._should_stop():
            raise ShareFailed("its worker was told to end")
        try:
            close_old_connections()
            if not self._is_said:
                self._is_said = load_shares.say(self._claim, self._said)
            told = load_shares.hear(self._claim)
            got_ns = time.monotonic_ns()
            if told is not None and told.get("ping", 0) > self._answered:
                self._answer(told["ping"], got_ns)
        except DatabaseError as error:
            log.warning("no word from the run of share %s: %s", self._claim.process, error)
            time.sleep(_PAUSE_S)
            return {}
        if told is None:
            raise ShareEnded("it was taken away, or its run has ended")
        return told

    def _answer(self, ping: int, got_ns: int) -> None:
        self._answered = ping
        self._said |= {"pong": ping, "got_ns": got_ns, "put_ns": time.monotonic_ns()}
        load_shares.say(self._claim, self._said)

    def _say(self, **words: Any) -> None:
        self._said |= words
        self._is_said = False


def _clock_facts() -> dict[str, str]:
    return {
        "domain": distant.own_domain(),
        "host": socket.gethostname(),
        "boot_id": clocks.boot_id(),
        "time_namespace": clocks.time_namespace(),
    }


def _check_in_time(go_ns: int) -> None:
    late_s = (time.monotonic_ns() - go_ns) / 1e9
    if late_s > 0:
        raise ShareFailed(f"the word to begin came {late_s:.3f} s after the instant that it named")


class _SignsOfLife(Beside):
    """Renews the lease of a share until the block ends."""

    def __init__(self, claim: ShareClaim) -> None:
        super().__init__("share", self._beat)
        self._claim = claim

    def _beat(self, over: threading.Event) -> None:
        try:
            while not over.wait(settings.HEARTBEAT_S):
                try:
                    close_old_connections()
                    load_shares.renew(self._claim)
                except DatabaseError as error:  # the lease decides
                    log.warning("share %s: no sign of life: %s", self._claim.process, error)
        finally:
            connections.close_all()
