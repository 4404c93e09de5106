"""Bring the engine of a run up: plan its launch, start it in its keeper, prove what it is."""

import asyncio
import json
from pathlib import Path

from runners.engines.base import EngineAdapter, LaunchContext, LaunchPlan
from runners.evidence import endpoint, launch, packages
from runners.evidence.environment_checks import free_port
from runners.evidence.keeper import KeeperConfig
from runners.evidence.record import Record
from runners.evidence.sampler import SamplerProcess
from runners.halting import Halts
from runners.protocol import layout
from runners.protocol.events import SessionEvent
from runners.protocol.workspace import Workspace, write_json


class EngineStart:
    """``engine`` is there as soon as something may have to be stopped."""

    def __init__(self, workspace: Workspace, record: Record, adapter: EngineAdapter) -> None:
        self._workspace = workspace
        self._record = record
        self._adapter = adapter
        self._port = int(record.context.get("port") or free_port(None))
        self.engine: launch.EngineProcess | None = None
        # What an engine may use that is not pinned: not what is left to it by a pinned client.
        self.allowed_cores: list[int] = []

    async def bring_up(self, halts: Halts, sampler: SamplerProcess) -> str:
        """Launch, wait until it answers, check its version, take its echo. Returns the base URL.

        Raises RunFailed when it does not come up as pinned, and whatever halts the run meanwhile.
        """
        launch.refuse_taken_port(self._port)
        plan = self._plan()
        engine = self.engine = self._keeper(plan)
        await engine.start()
        await sampler.tell(keeper=engine.keeper_pid)
        declared = self._record.spec["engine"]
        await halts.until(
            launch.await_ready(
                engine,
                base_url=plan.base_url,
                path=self._adapter.health_path(),
                port=self._port,
                timeout_s=declared["ready_timeout_s"],
                tell=lambda line: self._record.tell("launch", line),
            )
        )
        halts.watch_engine(engine)
        self._record.log.write(SessionEvent.ready, base_url=plan.base_url)
        await halts.until(self._identify(plan, declared["version"]))
        if (path := self._adapter.metrics_path()) is not None:
            await sampler.tell(scrape=[plan.base_url, path])
        return plan.base_url

    def _plan(self) -> LaunchPlan:
        context = self._record.context
        files = context.get("artifact_files", {})
        return self._adapter.launch(
            LaunchContext(
                spec=self._record.spec,
                artifact_files={name: Path(path) for name, path in files.items()},
                bundle=self._workspace.bundle,
                scratch=self._workspace.scratch,
                port=self._port,
                execution_id=context["execution_id"],
            )
        )

    def _keeper(self, plan: LaunchPlan) -> launch.EngineProcess:
        """Record the launch and the environments, then make the engine's keeper."""
        context, spec = self._record.context, self._record.spec
        environment = launch.engine_environment(
            plan.environment,
            execution_id=context["execution_id"],
            secret_names=context["secret_names"],
        )
        command = list(plan.command)
        pinned = list(spec["device"]["placement"]["engine_cores"])
        shown = self._record.clean(
            layout.SESSION,
            {
                "command": command,
                "environment": environment,
                "base_url": plan.base_url,
                "port": self._port,
                "pinned_cores": pinned,
                "events_file": str(plan.events_file) if plan.events_file else None,
                "clock_domain": plan.clock_domain,
            },
        )
        write_json(self._workspace.launch, shown)
        self._record.log.write(SessionEvent.launch, **shown)
        listed = [packages.of_client(), packages.of_engine(command, environment)]
        self._record.write_document(layout.PACKAGES, {"environments": listed})
        return launch.EngineProcess(
            KeeperConfig(
                execution_id=context["execution_id"],
                command=command,
                folder=str(self._workspace.keeper),
                directory=str(self._workspace.scratch),
                log_file=str(self._workspace.bundle / layout.ENGINE_LOG),
                log_limit_bytes=spec["evidence"]["stream_limit_bytes"],
                stop_timeout_s=spec["engine"]["stop_timeout_s"],
                port=self._port,
                cores=pinned or self.allowed_cores,
                secret_names=list(context["secret_names"]),
            ),
            environment,
        )

    async def _identify(self, plan: LaunchPlan, pin: str) -> None:
        version = await launch.read_back_version(
            base_url=plan.base_url, path=self._adapter.version_path(), pin=pin
        )
        path, info = self._adapter.info_path(), None
        if path is not None:
            reply = await asyncio.to_thread(endpoint.ask, plan.base_url, path, timeout_s=10.0)
            info = reply.json() if reply.ok else None
        if isinstance(info, dict):
            self._record.write_document(layout.SERVER_INFO, info)
        known = json.loads(self._workspace.launch.read_bytes())
        write_json(self._workspace.launch, {**known, "version": version})
        self._record.log.write(
            SessionEvent.identified, version=version, server_info=isinstance(info, dict)
        )
