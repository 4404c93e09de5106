"""Drive the phases of a plan against a running engine: warm-up, measure, drain, profile."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow.parquet as pq

from runners.engines.base import EngineAdapter
from runners.evidence import trace
from runners.evidence.record import Record
from runners.halting import Halts, disk_full
from runners.load.client import LoadClient
from runners.load.driver import drive, open_client
from runners.load.limits import StopReason
from runners.load.processes import drive_in_processes
from runners.load.recorder import Recorder
from runners.load.report import DriveReport
from runners.load.shard_process import ShardConfig
from runners.load.watch import ProgressCallback
from runners.protocol import layout
from runners.protocol.errors import Finding, RunFailed
from runners.protocol.events import Phase, Segment, SessionEvent
from runners.protocol.workspace import Workspace


class Phases:
    """One pass over the plan. ``reports`` holds what each segment's drive said of itself, ``streams`` what
    became of the segments of further client processes.
    """

    def __init__(
        self,
        workspace: Workspace,
        record: Record,
        halts: Halts,
        recorder: Recorder,
        *,
        base_url: str,
        on_clients: Callable[[list[int]], Awaitable[None]],
        addresses: Sequence[str] = (),
    ) -> None:
        """``on_clients`` is told the process ids of further client processes."""
        self._workspace = workspace
        self._on_clients = on_clients
        self.streams: list[dict[str, Any]] = []
        self._bundle = workspace.bundle
        self._log = record.log
        self._record = record
        self._halts = halts
        self._recorder = recorder
        self._spec = record.spec
        self._base_url = base_url
        self._addresses = addresses
        self._rows = _by_segment(pq.ParquetFile(self._bundle / layout.PLAN).read().to_pylist())
        prompts = pq.ParquetFile(self._bundle / layout.PROMPTS).read().to_pylist()
        self._prompts = {row["prompt_ref"]: row for row in prompts}
        self.total = sum(map(len, self._rows.values()))
        self._done = self._shown = 0
        self._phase = Phase.warmup
        self.reports: dict[str, DriveReport] = {}

    async def run(self, adapter: EngineAdapter) -> None:
        """All phases in order. Raises what ended the run early."""
        client = open_client(
            self._base_url, self._spec["load"], self._recorder, addresses=self._addresses
        )
        await client.open()
        try:
            await self._warm_up(client)
            await self._measure(client)
            await self._profile(client, adapter)
        finally:
            await client.close()

    async def _warm_up(self, client: LoadClient) -> None:
        self._begin(Phase.warmup)
        await self._drive(Segment.warmup, client)
        self._end(Phase.warmup)

    async def _measure(self, client: LoadClient) -> None:
        self._begin(Phase.measure)
        await self._drive(Segment.cases, client)
        await self._drive(Segment.load, client, on_drain=self._to_drain)
        if self._phase is Phase.measure:
            self._to_drain(None)
        self._end(Phase.drain)

    def _to_drain(self, t_ns: int | None) -> None:
        """The plan has nothing more to send; what is open is waited for, within bounds."""
        self._log.write(SessionEvent.phase_end, phase=Phase.measure.value, at_ns=t_ns)
        self._begin(Phase.drain)

    async def _profile(self, client: LoadClient, adapter: EngineAdapter) -> None:
        """After the measured window, in the same start. A trace that fails is a gap, not a failed run."""
        start, stop = adapter.profile_start(), adapter.profile_stop()
        rows = self._rows.get(Segment.profile, [])
        if not self._spec["evidence"]["trace"]["enabled"] or not rows:
            self._log.gap(trace.gap("evidence.trace is off or the plan has no profile segment"))
            return
        if start is None or stop is None:
            self._log.gap(trace.gap("this engine offers no profiler by HTTP"))
            return
        self._begin(Phase.profile)
        problem = await self._halts.until(trace.call(self._base_url, start, is_stop=False))
        if problem is None:
            await self._drive(Segment.profile, client)
            problem = await self._halts.until(trace.call(self._base_url, stop, is_stop=True))
        found = trace.files(self._bundle)
        shapes = [{k: row[k] for k in ("request_id", "input_tokens", "output_cap")} for row in rows]
        self._end(Phase.profile, files=found, shapes=shapes, problem=problem)
        if problem is not None or not found:
            self._log.gap(trace.gap(problem or "the profiler answered but wrote no file"))

    async def _drive(
        self,
        segment: Segment,
        client: LoadClient,
        *,
        on_drain: Callable[[int], None] | None = None,
    ) -> None:
        rows = self._rows.get(segment, [])
        if not rows:
            return
        before = self._done

        async def go() -> DriveReport:
            drives = self._in_processes if self._is_shared(segment) else self._alone
            report = await drives(
                rows,
                client=client,
                progress=lambda done, _, message: self._show(before + done, message),
                on_drain=on_drain,
            )
            self.reports[segment.value] = report  # kept also when the run ends in here
            self._log.write(SessionEvent.segment_end, segment=segment.value, report=asdict(report))
            return report

        report = await self._halts.until_wound_down(go())
        self._done = before + len(rows)
        if report.stop_reason is StopReason.capture_ended:
            raise disk_full("the captured reads could not be written any more")

    def _is_shared(self, segment: Segment) -> bool:
        load = self._spec["load"]
        return segment is Segment.load and (load["processes"] > 1 or load["workers"] > 0)

    async def _alone(
        self,
        rows: Sequence[dict[str, Any]],
        *,
        client: LoadClient,
        progress: ProgressCallback,
        on_drain: Callable[[int], None] | None,
    ) -> DriveReport:
        return await drive(
            rows,
            self._prompts,
            base_url=self._base_url,
            **asking(self._spec),
            load=self._spec["load"],
            recorder=self._recorder,
            client=client,
            progress=progress,
            stop_event=self._halts.stop,
            on_drain=on_drain,
        )

    async def _in_processes(
        self,
        rows: Sequence[dict[str, Any]],
        *,
        client: LoadClient,
        progress: ProgressCallback,
        on_drain: Callable[[int], None] | None,
    ) -> DriveReport:
        """The same rows in several processes, the last of them on load workers' machines.

        Each makes connections of its own.
        """
        count, workers = (self._spec["load"][name] for name in ("processes", "workers"))
        configs = [
            ShardConfig(
                root=str(self._workspace.root),
                number=number,
                processes=count,
                base_url=self._base_url,
                addresses=list(client.addresses),
                asking=asking(self._spec),
            )
            for number in range(count)
        ]
        driven = await drive_in_processes(
            configs[: count - workers],
            elsewhere=configs[count - workers :],
            root=self._workspace.root,
            scratch=self._workspace.scratch,
            segment=Segment.load.value,
            progress=progress,
            stop_event=self._halts.stop,
            on_drain=on_drain,
            on_start=self._on_clients,
        )
        self.streams += driven.streams
        return driven.report

    def _begin(self, phase: Phase) -> None:
        self._phase = phase
        self._log.write(SessionEvent.phase_start, phase=phase.value)
        self._show(self._done, f"{phase.value} begins")

    def _end(self, phase: Phase, **fields: Any) -> None:
        self._log.write(SessionEvent.phase_end, phase=phase.value, **fields)

    def _show(self, done: int, message: str) -> None:
        self._shown = max(self._shown, done)  # a phase may begin while requests are still open
        self._record.count(self._shown, self.total)
        self._record.tell(self._phase.value, message)

    def client_error(self) -> dict[str, Any]:
        """For ``clocks.json``: the load segment's own error on top, every segment's below."""
        by_segment = {name: report.client_error for name, report in self.reports.items()}
        for name in (Segment.load, Segment.cases, Segment.warmup):
            if name in by_segment:
                return {**by_segment[name], "segment": name.value, "by_segment": by_segment}
        return {"absent": "no segment was driven to its end"}


def asking(spec: Mapping[str, Any]) -> dict[str, Any]:
    """How requests name the model, prove who asks and ask for token ids, as ``drive`` takes it."""
    settings = spec["engine"]["settings"]
    return {
        "model": settings.get("model") or spec["artifact"]["name"],
        "authorization_env": settings.get("authorization_env"),
        "return_token_ids": settings.get("return_token_ids", True),
    }


def _by_segment(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["segment"] not in set(Segment):
            raise RunFailed(
                Finding(
                    field="plan.segment",
                    seen=str(row["segment"]),
                    allowed=", ".join(Segment),
                    remedy="Prepare the run again.",
                )
            )
        found.setdefault(row["segment"], []).append(row)
    return found
