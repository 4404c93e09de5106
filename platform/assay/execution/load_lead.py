"""The run's own worker and its load workers: offer them the plan, carry words between them and the runner.

A thread beside the run. It is what ties the clocks: at the barrier before the load and once after it, by
messages through the database. Nothing waits for ever: a load worker that gives no sign of life is lost, and
the runner is told so.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections

from assay.execution import load_shares
from assay.execution.beside import Beside
from assay.execution.clock_exchange import Round, clock_of, exchange_of
from assay.execution.leases import Claim
from assay.execution.load_place import PLAN, NotShared, Place, SharedFile
from assay.execution.load_workers import QUEUE
from assay.execution.models import LoadShare, ShareState
from assay.execution.nudging import nudge
from assay.execution.outage import wait_out
from runners.protocol import distant, layout
from runners.protocol.distant import DistantClock, LineReader
from runners.protocol.documents import Exchange

log = logging.getLogger(__name__)

ROUNDS = 12  # of one exchange
ROUND_S = 1.0  # then nobody answers now
_SOON_S = 0.05  # while the load is about to begin
_PAUSE_S = 0.5
_NUDGE_S = 1.0
_PLAN_FILES = [f"{layout.BUNDLE_FOLDER}/{n}" for n in (layout.SPEC, layout.PLAN, layout.PROMPTS)]
_ENDED = (ShareState.failed, ShareState.lost, ShareState.withdrawn)


def gather(
    claim: Claim,
    place: Place,
    out: Path,
    *,
    should_stop: Callable[[], bool],
    say: Callable[[str, str], None],
) -> str:
    """Offer the plan and wait until every load worker has it. Returns why one has not; empty if all have."""
    (out / distant.FOLDER).mkdir()
    document = {
        "url": place.remote.url,
        "folder": place.folder,
        "files": place.put(out, _PLAN_FILES, under=PLAN),
        "secret_names": list(settings.SECRET_NAMES),
    }
    load_shares.offer(claim, document)
    silence = _Silence(claim)
    started = nudged = time.monotonic()
    nudge(QUEUE)
    while not should_stop():
        wait_out(silence.look)
        shares = wait_out(lambda: load_shares.of_run(claim))
        if ended := [s for s in shares if s.state in _ENDED]:
            return _why(ended[0])
        came = sum(bool(s.said.get("joined")) for s in shares)
        if came == len(shares):
            return ""
        if time.monotonic() - started > settings.LOAD_JOIN_S:
            return f"waited {settings.LOAD_JOIN_S:g} s for {len(shares)} load workers; {came} came"
        say("prepare", f"waits for {len(shares)} load workers; {came} have the plan")
        if time.monotonic() - nudged > _NUDGE_S:
            nudge(QUEUE)
            nudged = time.monotonic()
        time.sleep(4 * _SOON_S)
    return ""


def _why(share: LoadShare) -> str:
    who = share.worker or "nobody"
    words = f"load worker {who} of client process {share.process}: {share.reason}"
    if share.said.get("ready"):
        words += f"; what it captured lies in {share.folder} on that machine, not in this bundle"
    return words


class _Silence:
    """Loses load workers that are silent: their lease ran out, and stayed so while a living one renews it.

    After an outage of the database, or a step of its clock, every lease looks old at first.
    """

    def __init__(self, claim: Claim) -> None:
        self._claim = claim
        self._since: float | None = None

    def look(self) -> None:
        if not load_shares.expired(self._claim).exists():
            self._since = None
        elif self._since is None:
            self._since = time.monotonic()
        elif time.monotonic() - self._since > 2 * settings.HEARTBEAT_S:
            load_shares.lose_expired(self._claim)


class LoadLead(Beside):
    """Carries words from entry to exit; then the shares of the run are at their end, however they stand."""

    def __init__(self, claim: Claim, place: Place, out: Path) -> None:
        super().__init__("load lead", self._carry)
        self._claim = claim
        self._links = {s.id: _Link(claim, place, out, s) for s in load_shares.of_run(claim)}
        self._silence = _Silence(claim)

    def _carry(self, over: threading.Event) -> None:
        pause_s = _SOON_S
        try:
            while not over.wait(pause_s):
                try:
                    close_old_connections()
                    self._turn()
                except DatabaseError as error:
                    log.warning("words to load workers of %s wait: %s", self._claim.run_id, error)
                is_sending = all(link.is_sending for link in self._links.values())
                pause_s = _PAUSE_S if is_sending else _SOON_S
        finally:
            connections.close_all()

    def _turn(self) -> None:
        self._silence.look()
        for share in load_shares.of_run(self._claim):
            self._links[share.id].turn(share)


class _Link:
    """Between the runner's files and one row."""

    def __init__(self, claim: Claim, place: Place, out: Path, share: LoadShare) -> None:
        self._claim = claim
        self._place = place
        self._out = out
        self._said_file = distant.said_file(out, share.process)
        self._from_runner = LineReader(distant.told_file(out, share.process))
        self._told: dict[str, Any] = {}
        self._is_told = True
        self._exchanges: list[Exchange] = []
        self._clock: DistantClock | None = None
        self._progress: tuple[int, int] = (0, 0)
        self._is_draining = False
        self._is_over = False

    def turn(self, share: LoadShare) -> None:
        if self._is_over:
            return
        if share.state in _ENDED:
            self._hand(gone=_why(share))
            self._is_over = True
            return
        for line in self._from_runner.new_lines():
            self._told |= self._translated(line)
            self._is_told = False
        if not self._is_told:
            self._is_told = self._tell(share)
        self._pass_on(share, share.said)

    @property
    def is_sending(self) -> bool:
        """Nothing is awaited of it soon."""
        return self._is_over or ("go" in self._told and self._is_told)

    def _translated(self, line: dict[str, Any]) -> dict[str, Any]:
        """The origin of the load is an instant of our clock: theirs is ahead by so much."""
        if "go" in line and self._clock is not None:
            return {"go": line["go"] + distant.offset_ns(self._clock)}
        return line

    def _pass_on(self, share: LoadShare, said: Mapping[str, Any]) -> None:
        if said.get("ready") and self._clock is None and self._tie(share, "barrier"):
            self._hand(ready=True)
        progress = (said.get("done", 0), said.get("total", 0))
        if progress != self._progress:
            self._progress = progress
            self._hand(done=progress[0], total=progress[1])
        if said.get("drain") and not self._is_draining:
            self._is_draining = True
            self._hand(drain=said["drain"])
        if "files" in said:
            self._take_in(share, said)

    def _take_in(self, share: LoadShare, said: Mapping[str, Any]) -> None:
        """It has ended its part: tie the clocks once more, fetch what it captured, and only then say so."""
        self._tie(share, "end")
        files: list[SharedFile] = said["files"]
        try:
            self._place.get(files, self._out, under=str(share.process))
        except NotShared as error:
            self._hand(gone=f"what it captured did not arrive: {error}")
        else:
            self._hand(**said["last"])
            load_shares.accept(self._claim, share)
        self._is_over = True

    def _tie(self, share: LoadShare, when: str) -> bool:
        """Some round trips. False if the load worker does not answer."""
        rounds = []
        for _ in range(ROUNDS):
            found = self._round(share)
            if found is None:
                return False
            rounds.append(found)
        self._exchanges.append(exchange_of(rounds, when=when))
        facts = LoadShare.objects.values_list("said", flat=True).get(id=share.id)["clock"]
        self._clock = clock_of(facts, self._exchanges)
        self._hand(clock=self._clock)
        return True

    def _round(self, share: LoadShare) -> Round | None:
        number = self._told.get("ping", 0) + 1
        self._told["ping"] = number
        sent_ns = time.monotonic_ns()
        if not self._tell(share):
            return None
        while time.monotonic_ns() - sent_ns < ROUND_S * 1e9:
            said = LoadShare.objects.values_list("said", flat=True).get(id=share.id)
            back_ns = time.monotonic_ns()
            if said.get("pong") == number:
                return Round(
                    sent_ns=sent_ns,
                    got_ns=said["got_ns"],
                    put_ns=said["put_ns"],
                    back_ns=back_ns,
                )
            time.sleep(0.001)
        return None

    def _tell(self, share: LoadShare) -> bool:
        return load_shares.tell(self._claim, share, self._told)

    def _hand(self, **line: Any) -> None:
        distant.write_line(self._said_file, **line)
