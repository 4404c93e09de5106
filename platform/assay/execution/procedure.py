"""One execution from claim to accepted result. Inline runs and Celery's go through here alike.

prepare -> register predictions -> execute -> verify -> interpret -> accept, with a heartbeat beside it.
"""

import logging
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.archive.paths import Home
from assay.archive.summary import BundleSummary, summarise
from assay.execution import launcher, load_lead, load_shares, preparing, registering, services
from assay.execution.device_leases import visible_to
from assay.execution.heartbeat import Heartbeat
from assay.execution.interpreting import interpret
from assay.execution.leases import Claim
from assay.execution.load_place import NotShared, Place
from assay.execution.outage import wait_out
from assay.execution.preparing import Prepared
from assay.execution.progress import ProgressReader, Show, ignore
from assay.execution.subprocesses import Ended
from assay.ledger.needs import need_of
from experiments.errors import Finding
from runners.protocol import exit_codes, layout, manifest
from runners.protocol.documents import Progress, RunRequest
from runners.protocol.events import RunState

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended, with the exit code that the command line gives back."""

    state: RunState
    exit_code: int
    reason: str = ""
    findings: tuple[Finding, ...] = ()


def never() -> bool:
    return False


def perform(
    claim: Claim, home: Home, *, show: Show = ignore, should_stop: Callable[[], bool] = never
) -> Outcome:
    """Carry out a claimed run and end it in the database, whatever happens on the way."""
    claim.folder.mkdir(parents=True)
    with Heartbeat(claim) as heartbeat:
        work = _Work(claim, home, heartbeat, show=show, should_stop=should_stop)
        try:
            outcome = work.run()
        except Exception as error:
            # The boundary of a run: what was captured is sealed, the cause is named, nothing hangs.
            log.exception("run %s failed in the platform", claim.run_id)
            outcome = work.seal_remains(RunState.failed, reason=f"{type(error).__name__}: {error}")
    if not (claim.out / layout.BUNDLE_FOLDER).exists():
        shutil.rmtree(claim.folder, ignore_errors=True)
    return outcome


class _Work:
    """The steps of one execution; each returns an outcome to end with, or None to go on."""

    def __init__(
        self,
        claim: Claim,
        home: Home,
        heartbeat: Heartbeat,
        *,
        show: Show,
        should_stop: Callable[[], bool],
    ) -> None:
        self.claim = claim
        self.home = home
        self.heartbeat = heartbeat
        self.show = show
        self.stop_asked = should_stop
        self.out = claim.out
        self.bundle = self.out / layout.BUNDLE_FOLDER
        self.progress = ProgressReader(self.out / layout.PROGRESS)

    def should_stop(self) -> bool:
        return self.stop_asked() or self.heartbeat.should_stop

    def run(self) -> Outcome:
        self._say("prepare", "verifying pins and expanding the plan")
        prepared = preparing.prepare(
            self._request(), folder=self.claim.folder, out=self.out, should_stop=self.should_stop
        )
        if prepared.exit_code != 0 or self.should_stop():
            return self._not_launched(prepared)
        for warning in prepared.warnings:
            self._say("prepare", f"warning: {warning}")
        note = registering.register_predictions(
            self.claim,
            prepared,
            home=self.home,
            bundle=self.bundle,
            should_stop=self.should_stop,
            say=self._say,
        )
        if self.should_stop():  # nothing ran yet, so there is nothing to seal
            return self._not_launched(prepared)
        if need_of(self.claim.spec).get("load_workers"):
            return self._with_load_workers(prepared, note)
        return self._execute(note)

    def _with_load_workers(self, prepared: Prepared, note: str) -> Outcome:
        """No engine is started before every load worker has the plan."""
        place = Place.of_execution(str(self.claim.execution_id), self.claim.folder)
        try:
            why_not = self._why_not_gathered(place)
            if self.should_stop():
                return self._not_launched(prepared)
            if why_not:
                shutil.rmtree(self.out, ignore_errors=True)
                return self._end(RunState.failed, reason=why_not)
            with load_lead.LoadLead(self.claim, place, self.out):
                return self._execute(note)
        finally:
            wait_out(lambda: load_shares.withdraw(self.claim.execution_id))
            place.clear()

    def _why_not_gathered(self, place: Place) -> str:
        try:
            return load_lead.gather(
                self.claim, place, self.out, should_stop=self.should_stop, say=self._say
            )
        except NotShared as error:
            return f"the plan could not be given to load workers: {error}"

    def _execute(self, note: str) -> Outcome:
        ended = launcher.run_to_end(
            launcher.runner(
                *("execute", self.out, "--watch", str(os.getpid())),
                *("--calibrations", self.home.calibrations),
            ),
            folder=self.claim.folder,
            name="execute",
            should_stop=self.should_stop,
            on_tick=self._follow,
            more=visible_to(self.claim.devices),
        )
        if not (self.bundle / layout.MANIFEST_DIGEST).exists():
            return self._unsealed(ended)
        return self._accept(exit_code=ended.exit_code, note=note)

    def seal_remains(self, state: RunState, *, reason: str) -> Outcome:
        """End with what there is: a bundle sealed by the reaper, or nothing but the reason."""
        if self.bundle.exists():
            launcher.run_to_end(
                launcher.runner("reap", self.out, "--state", state),
                folder=self.claim.folder,
                name="reap",
            )
            if (self.bundle / layout.MANIFEST_DIGEST).exists():
                return self._accept(exit_code=1, note=reason)
            return self._set_aside([reason], exit_code=1)
        return self._end(state, reason=reason)

    def _request(self) -> RunRequest:
        return RunRequest(
            spec=dict(self.claim.spec),
            spec_digest=self.claim.spec_digest,
            context=preparing.context(
                run_id=str(self.claim.run_id),
                execution_id=str(self.claim.execution_id),
                repetition=self.claim.repetition,
                position=self.claim.position,
                runs=self.claim.runs,
                study=self.claim.study,
                token=self.claim.token,
            ),
        )

    def _not_launched(self, prepared: Prepared) -> Outcome:
        shutil.rmtree(self.out, ignore_errors=True)
        if prepared.interrupted or self.should_stop():
            return self._end(RunState.aborted, reason="stopped before launch")
        if prepared.exit_code in {exit_codes.REFUSED, exit_codes.LACKING}:
            reason = "\n".join(str(f) for f in prepared.findings)
            self._end(RunState.refused, reason=reason, exit_code=prepared.exit_code)
            return Outcome(
                state=RunState.refused,
                exit_code=prepared.exit_code,
                reason=reason,
                findings=prepared.findings,
            )
        reason = f"prepare ended with exit code {prepared.exit_code}: {prepared.log_tail}"
        return self._end(RunState.failed, reason=reason)

    def _unsealed(self, ended: Ended) -> Outcome:
        if self.heartbeat.lost:
            return Outcome(state=RunState.lost, exit_code=1, reason="the lease was taken away")
        if ended.exit_code in {exit_codes.REFUSED, exit_codes.LACKING}:
            shutil.rmtree(self.out, ignore_errors=True)
            reason = ended.log_tail or ended.stdout
            self._end(RunState.refused, reason=reason, exit_code=ended.exit_code)
            return Outcome(state=RunState.refused, exit_code=ended.exit_code, reason=reason)
        if ended.interrupted and ended.exit_code == exit_codes.INTERRUPTED:
            # It seals whatever it launched; sealing nothing, it was still getting ready.
            shutil.rmtree(self.out, ignore_errors=True)
            return self._end(RunState.aborted, reason="stopped before launch")
        state = RunState.aborted if ended.interrupted else RunState.failed
        reason = f"the runner ended with exit code {ended.exit_code} and sealed nothing"
        return self.seal_remains(state, reason=f"{reason}: {ended.log_tail}")

    def _accept(self, *, exit_code: int, note: str = "") -> Outcome:
        checked = manifest.verify(self.bundle)
        if not checked.ok or checked.bundle_digest is None:
            return self._set_aside(checked.problems, exit_code=exit_code)
        summary = summarise(self.bundle)
        self._say("interpret", "reading the bundle")
        reading = interpret(
            self.home, self.bundle, digest=summary.digest, scratch=self.claim.folder
        )
        row = wait_out(
            lambda: services.finish_sealed(
                self.claim,
                self.home,
                self.bundle,
                summary,
                reading,
                exit_code=exit_code,
                note=note,
            )
        )
        if row is None:
            return Outcome(state=RunState.lost, exit_code=1, reason="quarantined")
        return _outcome(summary, note, reading.problem)

    def _set_aside(self, problems: Sequence[str], *, exit_code: int) -> Outcome:
        """A bundle that is half or changed is kept where nobody takes it for a result."""
        wait_out(
            lambda: services.quarantine_damaged(
                self.claim, self.home, self.bundle, problems, exit_code=exit_code
            )
        )
        return Outcome(state=RunState.failed, exit_code=1, reason="; ".join(problems))

    def _end(self, state: RunState, *, reason: str, exit_code: int | None = None) -> Outcome:
        code = exit_codes.OF_STATE[state] if exit_code is None else exit_code
        ended = wait_out(
            lambda: services.finish_unlaunched(
                self.claim, state=state, reason=reason, exit_code=code
            )
        )
        if not ended:
            return Outcome(state=RunState.lost, exit_code=1, reason="the lease was taken away")
        return Outcome(state=state, exit_code=code, reason=reason)

    def _follow(self) -> None:
        for line in self.progress.new_lines():
            self.heartbeat.publish(line)
            self.show(line)

    def _say(self, phase: str, message: str) -> None:
        line = Progress(t="", phase=phase, done=0, total=0, message=message)
        self.heartbeat.publish(line)
        self.show(line)


def _outcome(summary: BundleSummary, note: str, problem: str) -> Outcome:
    reason = "; ".join(r for r in (note, summary.reason, problem) if r)
    return Outcome(state=summary.state, exit_code=exit_codes.OF_STATE[summary.state], reason=reason)
