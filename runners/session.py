"""One run from a prepared folder to a sealed bundle.

Launch, warm-up, measure, drain, profile, stop, release checks, seal. Whatever ends a run early (an
interrupt, a dead engine, a full disk, a worker that is gone) leaves through the same door: stop driving,
stop the engine, seal what was captured, with the reason.
"""

import asyncio
import contextlib
import errno
import os
import signal
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import uvloop

from runners import readying
from runners.adapters import adapter_for, identify_with, printed_by
from runners.calibrating import calibrate_client
from runners.evidence import closing, device_release, launch, release
from runners.evidence.keeper import JOURNAL
from runners.evidence.record import Record
from runners.evidence.sampler import SamplerConfig
from runners.evidence.sampler_process import SamplerProcess
from runners.evidence.sweep import sweep
from runners.halting import Halts, Interrupted, WorkerGone, disk_full
from runners.load.recorder import Recorder
from runners.phases import Phases
from runners.protocol import exit_codes, layout
from runners.protocol.errors import Finding, RunFailed, RunnerError
from runners.protocol.events import RunState, SessionEvent
from runners.protocol.segment_writer import SegmentWriter
from runners.protocol.tables import TelemetryRow
from runners.protocol.workspace import Workspace
from runners.result import Result
from runners.starting import EngineStart

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_ENDED_BY_OUR_SIGNAL = {128 + signal.SIGTERM, 128 + signal.SIGKILL}  # as a shell reports them
_NO_CLIENT = {"absent": "nothing was driven"}


def execute(out: Path, *, watched: Sequence[int] = (), calibrations: Path | None = None) -> Result:
    """Run the prepared execution in ``out`` and seal it. Ends with any of the ``watched`` processes.

    ``calibrations`` is a folder where the client's calibrations are kept between runs.

    Raises Refused or EnvironmentLacks, with nothing launched, when it cannot be started at all.
    """
    session = Session(Workspace(out.resolve()), watched, calibrations)
    session.make_ready()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        ending = loop.run(session.live())
    return session.seal(ending)


class Session:
    def __init__(
        self, workspace: Workspace, watched: Sequence[int], calibrations: Path | None
    ) -> None:
        self._workspace = workspace
        self._watched = watched
        self._calibrations = calibrations
        self._record = Record(workspace)
        self._adapter = adapter_for(self._record.spec["engine"]["key"])
        self._start = EngineStart(workspace, self._record, self._adapter)
        self._phases: Phases | None = None
        self._observed = closing.Observed()
        self._sampled: dict[str, Any] | None = None
        self._self_calibration: dict[str, Any] = {"absent": "the run ended before it"}
        self._devices_before: list[TelemetryRow] = []
        self._stage = "start"

    def make_ready(self) -> None:
        """Everything that comes before the launch. Raises Refused or EnvironmentLacks."""
        self._start.allowed_cores = readying.make_ready(
            self._workspace, self._record, self._adapter
        )

    # While it runs

    async def live(self) -> closing.Ending:
        """Everything from launch to stop. Raises nothing of the run's: the ending says how it went."""
        halts = Halts(self._workspace, self._watched)
        try:
            await self._launch_drive_stop(halts)
            return closing.Ending(state=RunState.sealed, reason=None)
        except (Interrupted, WorkerGone) as cause:
            self._record.log.write(SessionEvent.interrupted, reason=str(cause))
            was_asked = isinstance(cause, Interrupted)
            return self._ending(RunState.aborted if was_asked else RunState.lost, str(cause))
        except RunnerError as error:
            return self._failed(error)
        except OSError as error:
            return (
                self._failed(disk_full(str(error))) if error.errno in _FULL else self._broken(error)
            )
        except Exception as error:  # noqa: BLE001 - the boundary of a run: sealed as failed, with the cause
            return self._broken(error)
        finally:
            await halts.close()

    async def _launch_drive_stop(self, halts: Halts) -> None:
        evidence = self._record.spec["evidence"]
        sampler = self._sampler()
        writer = SegmentWriter(self._workspace.segments, limit_bytes=evidence["stream_limit_bytes"])
        recorder = Recorder(writer, redact_wire=self._record.wire_transform())
        writer.start()
        # Every step of the way down is taken, whatever happens in the one before it.
        async with contextlib.AsyncExitStack() as down:
            down.callback(self._account, writer)
            await sampler.start()
            down.push_async_callback(self._stop_sampler, sampler)
            down.push_async_callback(self._stop_engine)
            down.push_async_callback(sampler.tell, scrape=None)
            self._self_calibration = await calibrate_client(
                self._workspace, self._record, halts, cache=self._calibrations
            )
            self._devices_before = await asyncio.to_thread(device_release.readings)
            self._stage = "launch"
            base_url = await self._start.bring_up(halts, sampler)
            self._stage = "drive"
            self._phases = Phases(
                self._workspace,
                self._record,
                halts,
                recorder,
                base_url=base_url,
                addresses=self._start.addresses,
                on_clients=lambda pids: sampler.tell(clients=pids),
            )
            await self._phases.run(self._adapter)
            await halts.until(self._start.check_alive(base_url))
            self._stage = "stop"
        self._check_how_the_engine_ended()

    async def _stop_sampler(self, sampler: SamplerProcess) -> None:
        self._sampled = await sampler.stop()

    def _account(self, writer: SegmentWriter) -> None:
        self._observed = closing.Observed(
            client_streams=[
                *(asdict(report) for report in writer.close()),
                *(self._phases.streams if self._phases else ()),
            ],
            client_error=self._phases.client_error() if self._phases else _NO_CLIENT,
            self_calibration=self._self_calibration,
            sampler=self._sampled,
        )

    def _sampler(self) -> SamplerProcess:
        evidence = self._record.spec["evidence"]
        return SamplerProcess(
            SamplerConfig(
                segments=str(self._workspace.segments),
                limit_bytes=evidence["stream_limit_bytes"],
                scrape_interval_s=evidence["scrape_interval_s"],
                telemetry_interval_s=evidence["telemetry_interval_s"],
                anchor_interval_s=evidence["anchor_interval_s"],
                client_pid=os.getpid(),
                secret_names=self._record.context["secret_names"],
            ),
            self._workspace.root / "sampler.json",
        )

    async def _stop_engine(self) -> None:
        engine = self._start.engine
        if engine is None or engine.keeper_pid is None:
            return
        self._record.tell("stop", "the engine is being stopped")
        released = await engine.stop()
        fields: dict[str, Any] = {"keeper": released, "exit_code": engine.exit_code}
        if (
            released is None
            or released["processes_left"]
            or released.get("containers_left", []) != []
        ):
            swept = await asyncio.to_thread(
                sweep,
                self._record.context["execution_id"],
                self._workspace.keeper,
                stop_timeout_s=self._record.spec["engine"]["stop_timeout_s"],
            )
            fields["swept"] = swept.as_row()
        self._record.log.write(SessionEvent.stop, **fields)
        events = self._workspace.bundle / layout.ENGINE_EVENTS
        journal = self._workspace.keeper / JOURNAL
        held = await asyncio.to_thread(device_release.readings)
        found = device_release.check(self._devices_before, held, journal)
        for check in (*release.checks(events, journal), *found):
            self._record.log.write(SessionEvent.release_check, **check)

    def _check_how_the_engine_ended(self) -> None:
        """An engine that failed just before it was stopped, unseen, says so with its exit code alone.

        An orderly end is 0 or the stop signal itself; a kill after the stop's time-out counts as ours.
        """
        engine = self._start.engine
        code = engine.exit_code if engine is not None else None
        if engine is None or code is None or code <= 0 or code in _ENDED_BY_OUR_SIGNAL:
            return
        words = " | ".join(engine.last_words(6)) or "nothing"
        raise RunFailed(
            Finding(
                field="engine",
                seen=f"failed before it was stopped ({engine.how_it_ended()}); last lines: {words}",
                allowed="an engine that stays up until it is stopped",
                remedy="Read engine.log in the bundle.",
            )
        )

    # After it ran

    def seal(self, ending: closing.Ending) -> Result:
        self._workspace.release_reserve()
        self._record.log.flush()
        self._record.tell("seal", "sealing")
        digest = closing.close(
            self._workspace,
            self._record.log,
            ending,
            identify=identify_with(self._workspace, self._record.log),
            read_printed=printed_by(self._workspace, self._record.log),
            observed=self._observed,
        )
        self._record.tell("end", ending.state.value)
        return Result(
            state=ending.state.value,
            bundle=str(self._workspace.bundle),
            bundle_digest=digest,
            reason=ending.reason,
            exit_code=exit_codes.OF_STATE[ending.state],
        )

    def _failed(self, error: RunnerError) -> closing.Ending:
        self._record.failure(error, self._stage)
        return self._ending(RunState.failed, str(error))

    def _broken(self, error: Exception) -> closing.Ending:
        text = self._record.redactor.text("".join(traceback.format_exception(error)))
        self._record.log.write(SessionEvent.failure, stage=self._stage, traceback=text)
        return self._ending(RunState.failed, f"{type(error).__name__}: {error}")

    def _ending(self, state: RunState, reason: str) -> closing.Ending:
        engine: launch.EngineProcess | None = self._start.engine
        return closing.Ending(
            state=state,
            reason=self._record.redactor.text(reason),
            phase=self._stage,
            last_lines=tuple(engine.last_words() if engine is not None else ()),
        )
