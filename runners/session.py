"""One run from a prepared folder to a sealed bundle.

Launch, warm-up, measure, drain, profile, stop, release checks, seal. Whatever ends a run early (an
interrupt, a dead engine, a full disk, a worker that is gone) leaves through the same door: stop driving,
stop the engine, seal what was captured, with the reason.
"""

import asyncio
import contextlib
import errno
import json
import os
import shutil
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import uvloop

from runners.adapters import adapter_for, identify_with
from runners.engines.base import LaunchContext, LaunchPlan
from runners.evidence import closing, endpoint, host, launch, packages, processes, release
from runners.evidence import secrets as secret_rules
from runners.evidence.keeper import KeeperConfig
from runners.evidence.sampler import SamplerConfig, SamplerProcess
from runners.evidence.sweep import sweep
from runners.halting import Halts, Interrupted, WorkerGone, disk_full
from runners.load.process_state import pin_to_cores
from runners.load.recorder import Recorder
from runners.phases import Phases
from runners.protocol import layout, manifest, sealing
from runners.protocol.documents import Gap, Progress
from runners.protocol.errors import EnvironmentLacks, Finding, Refused, RunnerError
from runners.protocol.events import RunState, SessionEvent
from runners.protocol.segment_writer import SegmentWriter
from runners.protocol.session_log import SessionLog
from runners.protocol.workspace import Workspace, write_json

EXIT_CODES = {RunState.sealed: 0, RunState.failed: 1, RunState.lost: 1, RunState.aborted: 130}
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What ``execute`` and ``reap`` say on standard output, as one JSON line."""

    state: str
    bundle: str
    bundle_digest: str | None
    reason: str | None
    exit_code: int

    def line(self) -> str:
        return json.dumps(asdict(self))


def execute(out: Path, *, watched: Sequence[int] = ()) -> Result:
    """Run the prepared execution in ``out`` and seal it. Ends with any of the ``watched`` processes.

    Raises Refused or EnvironmentLacks, with nothing launched, when it cannot be started at all.
    """
    session = Session(Workspace(out.resolve()), watched)
    session.make_ready()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        ending = loop.run(session.live())
    return session.seal(ending)


class Session:
    def __init__(self, workspace: Workspace, watched: Sequence[int]) -> None:
        self._workspace = workspace
        self._watched = watched
        self._context = workspace.context()
        self._spec = workspace.spec()
        self._adapter = adapter_for(self._spec["engine"]["key"])
        self._redactor = secret_rules.from_environment(self._context["secret_names"], os.environ)
        self._log = SessionLog(workspace.bundle / layout.SESSION)
        self._stage = "start"
        self._engine: launch.EngineProcess | None = None
        self._phases: Phases | None = None
        self._observed = closing.Observed()

    # Before anything runs

    def make_ready(self) -> None:
        """Claim the folder, hold back disk space, take down what must be known before the launch."""
        workspace = self._workspace
        if not workspace.lock():
            raise Refused(
                Finding(
                    field="OUT",
                    seen=f"{workspace.root} is in use by another process",
                    allowed="an execution that nobody runs or reaps",
                    remedy="Wait for it to end.",
                )
            )
        if workspace.runner.exists() or sealing.sealed_digest(workspace.bundle) is not None:
            raise Refused(
                Finding(
                    field="OUT",
                    seen=f"{workspace.root} was executed already",
                    allowed="an execution that has not run",
                    remedy="Every try is an execution of its own: prepare another folder.",
                )
            )
        if (problem := self._adapter.environment_problem(self._spec)) is not None:
            raise EnvironmentLacks(
                Finding(
                    field="engine.environment",
                    seen=problem,
                    allowed="the pinned engine",
                    remedy="See python -m runners doctor.",
                )
            )
        cores = pin_to_cores(self._spec["device"]["placement"]["client_cores"])
        me = processes.identify(os.getpid())
        write_json(workspace.runner, me.as_row() if me else {"pid": os.getpid()})
        workspace.take_reserve()
        for folder in (workspace.segments, workspace.scratch, workspace.keeper):
            folder.mkdir(exist_ok=True)
        self._log.write(
            SessionEvent.prepared,
            run_id=self._context["run_id"],
            execution_id=self._context["execution_id"],
            spec_digest=self._context.get("spec_digest"),
            plan_digest=self._context.get("plan_digest"),
            client_cores=cores,
        )
        described = host.describe()
        sealing.write_document(workspace.bundle / layout.HOST, described)
        for gap in described["gaps"]:
            self._log.gap(gap)
        self._register_predictions()

    def _register_predictions(self) -> None:
        """Note the digest of the predictions before the launch, and keep their text as it is now."""
        present = self._workspace.bundle / layout.PREDICTIONS
        problem: str | None = "no predictions.json lay in the bundle before the launch"
        if present.exists():
            stated = json.loads(present.read_bytes())
            problem = _foreign_predictions(stated, self._context)
            if problem is None:
                kept = self._workspace.registered_predictions
                kept.parent.mkdir(exist_ok=True)
                shutil.copyfile(present, kept)
                self._log.write(
                    SessionEvent.predictions_registered,
                    sha256=manifest.sha256_of(present),
                    registered_at=stated.get("registered_at"),
                )
                return
        self._log.gap(
            Gap(
                what=f"no prediction is registered: {problem}",
                affects="every residual of this run",
                needed="predictions written before `python -m runners execute`",
                state="open",
            )
        )

    # While it runs

    async def live(self) -> closing.Ending:
        """Everything between launch and stop. Never raises: the ending says how it went."""
        halts = Halts(self._workspace, self._watched)
        try:
            await self._launch_drive_stop(halts)
            return closing.Ending(state=RunState.sealed, reason=None)
        except Interrupted as cause:
            self._log.write(SessionEvent.interrupted, reason=str(cause))
            return self._ending(RunState.aborted, str(cause))
        except WorkerGone as cause:
            self._log.write(SessionEvent.interrupted, reason=str(cause))
            return self._ending(RunState.lost, str(cause))
        except RunnerError as error:
            return self._failed(error)
        except OSError as error:
            if error.errno in _FULL:
                return self._failed(disk_full(str(error)))
            return self._broken(error)
        except Exception as error:  # noqa: BLE001 - the boundary of a run: it is sealed as failed, with the cause
            return self._broken(error)
        finally:
            await halts.close()

    async def _launch_drive_stop(self, halts: Halts) -> None:
        sampler = self._sampler()
        writer = SegmentWriter(
            self._workspace.segments, limit_bytes=self._spec["evidence"]["stream_limit_bytes"]
        )
        recorder = Recorder(writer)
        writer.start()
        try:
            await sampler.start()
            base_url = await self._start_engine(halts, sampler)
            self._stage = "phases"
            self._phases = Phases(
                self._workspace,
                self._log,
                halts,
                recorder,
                spec=self._spec,
                base_url=base_url,
                tell=self._tell,
            )
            await self._phases.run(self._adapter)
        finally:
            await sampler.tell(scrape=None)
            await self._stop_engine()
            account = await sampler.stop()
            reports = [asdict(report) for report in writer.close()]
            self._observed = closing.Observed(
                client_error=self._phases.client_error() if self._phases else _NO_CLIENT,
                client_streams=reports,
                sampler=account,
            )

    def _sampler(self) -> SamplerProcess:
        evidence = self._spec["evidence"]
        return SamplerProcess(
            SamplerConfig(
                segments=str(self._workspace.segments),
                limit_bytes=evidence["stream_limit_bytes"],
                scrape_interval_s=evidence["scrape_interval_s"],
                telemetry_interval_s=evidence["telemetry_interval_s"],
                anchor_interval_s=evidence["anchor_interval_s"],
                client_pid=os.getpid(),
                secret_names=self._context["secret_names"],
            ),
            self._workspace.root / "sampler.json",
        )

    async def _start_engine(self, halts: Halts, sampler: SamplerProcess) -> str:
        """Launch, wait until it answers, check its version, take its echo. Returns the base URL."""
        self._stage = "launch"
        port = int(self._context.get("port") or launch.free_port())
        plan = self._plan_launch(port)
        engine = self._engine = self._keeper_of(plan, port)
        launch.refuse_taken_port(port)
        await engine.start()
        await sampler.tell(keeper=engine.keeper_pid)
        self._tell("launch", 0, 0, "the engine is starting")
        engine_spec = self._spec["engine"]
        await halts.until(
            launch.await_ready(
                engine,
                base_url=plan.base_url,
                path=self._adapter.health_path(),
                port=port,
                timeout_s=engine_spec["ready_timeout_s"],
                tell=lambda line: self._tell("launch", 0, 0, line),
            )
        )
        halts.watch_engine(engine)
        self._log.write(SessionEvent.ready, base_url=plan.base_url)
        version = await halts.until(
            launch.read_back_version(
                base_url=plan.base_url,
                path=self._adapter.version_path(),
                pin=engine_spec["version"],
            )
        )
        await halts.until(self._identify(plan, version))
        if (path := self._adapter.metrics_path()) is not None:
            await sampler.tell(scrape=[plan.base_url, path])
        return plan.base_url

    def _plan_launch(self, port: int) -> LaunchPlan:
        files = self._context.get("artifact_files", {})
        return self._adapter.launch(
            LaunchContext(
                spec=self._spec,
                artifact_files={name: Path(path) for name, path in files.items()},
                bundle=self._workspace.bundle,
                scratch=self._workspace.scratch,
                port=port,
                execution_id=self._context["execution_id"],
            )
        )

    def _keeper_of(self, plan: LaunchPlan, port: int) -> launch.EngineProcess:
        workspace, evidence = self._workspace, self._spec["evidence"]
        environment = launch.engine_environment(
            plan.environment,
            execution_id=self._context["execution_id"],
            secret_names=self._context["secret_names"],
        )
        cores = self._spec["device"]["placement"]["engine_cores"]
        record = {
            "command": list(plan.command),
            "environment": environment,
            "base_url": plan.base_url,
            "port": port,
            "cores": cores,
            "events_file": str(plan.events_file) if plan.events_file else None,
            "clock_domain": plan.clock_domain,
        }
        shown = self._clean("session.jsonl", record)
        write_json(workspace.launch, shown)
        self._log.write(SessionEvent.launch, **shown)
        listed = [
            packages.of_client(),
            packages.of_engine(list(plan.command), environment),
        ]
        sealing.write_document(workspace.bundle / layout.PACKAGES, {"environments": listed})
        return launch.EngineProcess(
            KeeperConfig(
                execution_id=self._context["execution_id"],
                command=list(plan.command),
                folder=str(workspace.keeper),
                directory=str(workspace.scratch),
                log_file=str(workspace.bundle / layout.ENGINE_LOG),
                log_limit_bytes=evidence["stream_limit_bytes"],
                stop_timeout_s=self._spec["engine"]["stop_timeout_s"],
                port=port,
                cores=list(cores),
                secret_names=list(self._context["secret_names"]),
            ),
            environment,
        )

    async def _identify(self, plan: LaunchPlan, version: str) -> None:
        path, info = self._adapter.info_path(), None
        if path is not None:
            reply = await asyncio.to_thread(endpoint.ask, plan.base_url, path, timeout_s=10.0)
            info = reply.json() if reply.ok else None
        if info is not None:
            clean = self._clean(layout.SERVER_INFO, info)
            sealing.write_document(self._workspace.bundle / layout.SERVER_INFO, clean)
        self._log.write(SessionEvent.identified, version=version, server_info=info is not None)
        known = json.loads(self._workspace.launch.read_bytes())
        write_json(self._workspace.launch, {**known, "version": version})

    async def _stop_engine(self) -> None:
        engine = self._engine
        if engine is None or engine.keeper_pid is None:
            return
        self._tell("stop", 0, 0, "the engine is being stopped")
        released = await engine.stop()
        fields: dict[str, Any] = {"keeper": released, "exit_code": engine.exit_code}
        if released is None or released["processes_left"]:
            swept = await asyncio.to_thread(
                sweep, self._context["execution_id"], self._workspace.keeper
            )
            fields["swept"] = swept.as_row()
        self._log.write(SessionEvent.stop, **fields)
        for check in release.checks(released, self._workspace.bundle / layout.ENGINE_EVENTS):
            self._log.write(SessionEvent.release_check, **check)

    # After it ran

    def seal(self, ending: closing.Ending) -> Result:
        self._workspace.release_reserve()
        self._log.flush()
        self._tell("seal", 0, 0, "sealing")
        digest = closing.close(
            self._workspace,
            self._log,
            ending,
            identify=identify_with(self._workspace, self._log),
            observed=self._observed,
        )
        self._tell("end", 0, 0, ending.state.value)
        return Result(
            state=ending.state.value,
            bundle=str(self._workspace.bundle),
            bundle_digest=digest,
            reason=ending.reason,
            exit_code=EXIT_CODES[ending.state],
        )

    def _failed(self, error: RunnerError) -> closing.Ending:
        fields = self._clean(layout.SESSION, asdict(error.finding))
        self._log.write(SessionEvent.failure, stage=self._stage, **fields)
        return self._ending(RunState.failed, str(error))

    def _broken(self, error: Exception) -> closing.Ending:
        text = "".join(traceback.format_exception(error))
        self._log.write(
            SessionEvent.failure, stage=self._stage, traceback=self._redactor.text(text)
        )
        return self._ending(RunState.failed, f"{type(error).__name__}: {error}")

    def _ending(self, state: RunState, reason: str) -> closing.Ending:
        words = self._engine.last_words() if self._engine is not None else []
        return closing.Ending(
            state=state,
            reason=self._redactor.text(reason),
            phase=self._stage,
            last_lines=tuple(words),
        )

    def _clean(self, file: str, document: Mapping[str, Any]) -> dict[str, Any]:
        """The document without secrets; each replacement is noted for ``redactions.json``."""
        clean, found = self._redactor.document(document)
        with (self._workspace.root / "redactions.jsonl").open("a", encoding="utf-8") as stream:
            for pointer, rule in found:
                stream.write(json.dumps({"file": file, "pointer": pointer, "rule": rule}) + "\n")
        return dict(clean)

    def _tell(self, phase: str, done: int, total: int, message: str) -> None:
        line = Progress(
            t=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            phase=phase,
            done=done,
            total=total,
            message=message,
        )
        with contextlib.suppress(OSError), self._workspace.progress.open("a") as stream:
            stream.write(json.dumps(line) + "\n")


_NO_CLIENT = {"absent": "nothing was driven"}


def _foreign_predictions(stated: Mapping[str, Any], context: Mapping[str, Any]) -> str | None:
    """Why these predictions are not this run's; None if they are."""
    for name in ("spec_digest", "plan_digest"):
        if context.get(name) is not None and stated.get(name) != context[name]:
            return f"its {name} is {stated.get(name)}, this run's is {context[name]}"
    return None
