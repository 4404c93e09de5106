"""Bring the engine of a run up: plan its launch, start it in its keeper, prove what it is.

An engine that runs elsewhere is reached instead: its address is pinned, and what it says of itself is taken.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.schema.engine import EnvironmentKind
from runners.containing import Contained
from runners.engines.base import Elsewhere, EngineAdapter, LaunchContext, LaunchPlan
from runners.evidence import addresses, elsewhere, endpoint, launch, packages
from runners.evidence.environment_checks import free_port
from runners.evidence.keeper import KeeperConfig
from runners.evidence.record import Record
from runners.evidence.sampler_process import SamplerProcess
from runners.halting import Halts
from runners.load.requests import authorization, parse_target
from runners.protocol import layout, series
from runners.protocol.documents import Gap
from runners.protocol.events import SessionEvent
from runners.protocol.workspace import Workspace, write_json

_ECHO_S = 90.0  # an engine may look at its whole environment before it tells its configuration


class EngineStart:
    """``engine`` is there as soon as something may have to be stopped.

    ``addresses`` are those that the client is to connect to; empty: it looks the name up itself.
    """

    def __init__(self, workspace: Workspace, record: Record, adapter: EngineAdapter) -> None:
        self._workspace = workspace
        self._record = record
        self._adapter = adapter
        self._port = int(record.context.get("port") or free_port(None))
        self.engine: launch.EngineProcess | None = None
        self._contained: Contained | None = None
        self.addresses: tuple[str, ...] = ()
        # What an engine may use that is not pinned: not what is left to it by a pinned client.
        self.allowed_cores: list[int] = []

    async def bring_up(self, halts: Halts, sampler: SamplerProcess) -> str:
        """Launch, wait until it answers, check its version, take its echo. Returns the base URL.

        Raises RunFailed when it does not come up as pinned, and whatever halts the run meanwhile.
        """
        plan = self._plan()
        if isinstance(plan, Elsewhere):
            await self._reach(plan, halts)
            return plan.base_url
        launch.refuse_taken_port(self._port)
        engine = self.engine = self._keeper(plan)
        await engine.start()
        await sampler.tell(keeper=engine.keeper_pid)
        declared = self._record.spec["engine"]
        if self._contained is not None:
            seen = await halts.until(self._contained.prove(engine, declared["ready_timeout_s"]))
            self._record.log.write(SessionEvent.container, **seen)
            await sampler.tell(root=seen["pid"])
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
            named = series.document(self._adapter.series())
            self._record.write_document(layout.SERIES, {"path": path, "series": named})
            await sampler.tell(scrape=[plan.base_url, path])
        return plan.base_url

    async def check_alive(self, base_url: str) -> None:
        """Whether the engine that was started here is still healthy. Raises RunFailed."""
        if self.engine is not None:
            path = self._adapter.health_path()
            await launch.check_answers(self.engine, base_url=base_url, path=path)

    async def _reach(self, plan: Elsewhere, halts: Halts) -> None:
        """Nothing is launched: pin the address, see that the endpoint answers, take what it tells."""
        record, declared = self._record, self._record.spec["engine"]
        target = parse_target(plan.base_url)
        self.addresses = await asyncio.to_thread(addresses.pinned, target.host, target.port)
        shown = record.clean(
            layout.SESSION,
            {
                "command": None,
                "reason": "nothing is launched: the engine runs elsewhere",
                "base_url": plan.base_url,
                "addresses": list(self.addresses),
            },
        )
        write_json(self._workspace.launch, shown)
        record.log.write(SessionEvent.launch, **shown)
        record.write_document(layout.PACKAGES, {"environments": [packages.of_client()]})
        answer = await halts.until(
            elsewhere.reach(
                elsewhere.Door(
                    base_url=elsewhere.origin(plan.base_url),
                    address=self.addresses[0],
                    bearer=authorization(plan.authorization_env),
                ),
                health_path=self._adapter.health_path(),
                info_path=self._adapter.info_path() or "/v1/models",
                version_path=self._adapter.version_path(),
                timeout_s=declared["ready_timeout_s"],
                tell=lambda line: record.tell("launch", line),
            )
        )
        record.log.write(SessionEvent.ready, base_url=plan.base_url)
        record.write_document(layout.SERVER_INFO, answer.info)
        write_json(self._workspace.launch, {**shown, "version": answer.version})
        record.log.write(SessionEvent.identified, version=answer.version, models=answer.models)
        for gap in _not_seen(record.spec, answer.version):
            record.log.gap(gap)
        elsewhere.check_version(declared["version"], answer.version)
        elsewhere.check_model(str(declared["settings"]["model"]), answer.models)

    def _plan(self) -> LaunchPlan | Elsewhere:
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
                roots=tuple(Path(root) for root in context.get("artifact_roots", ())),
            )
        )

    def _keeper(self, plan: LaunchPlan) -> launch.EngineProcess:
        """Record the launch and the environments, then make the engine's keeper."""
        context, spec = self._record.context, self._record.spec
        pinned = list(spec["device"]["placement"]["engine_cores"])
        command, environment = self._process(plan, pinned or self.allowed_cores)
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
        listed = [packages.of_client(), self._listed(command, environment)]
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
                docker=self._contained.cli if self._contained is not None else None,
            ),
            environment,
        )

    def _process(self, plan: LaunchPlan, cores: Sequence[int]) -> tuple[list[str], dict[str, str]]:
        """The command and environment of the process to start: the engine's own, or docker's around it."""
        record = self._record
        execution_id, secret_names = record.context["execution_id"], record.context["secret_names"]
        if record.spec["engine"]["environment"]["kind"] == EnvironmentKind.container:
            self._contained = Contained.of(record.spec, record.context, self._workspace)
            return (
                self._contained.command(plan, cores),
                launch.docker_environment(execution_id=execution_id, secret_names=secret_names),
            )
        environment = launch.engine_environment(
            plan.environment, execution_id=execution_id, secret_names=secret_names
        )
        return list(plan.command), environment

    def _listed(
        self, command: list[str], environment: Mapping[str, str]
    ) -> packages.PackageEnvironment:
        if self._contained is not None:
            image = self._contained.image
            return packages.of_image(image.reference, image.python, image.packages)
        return packages.of_engine(command, environment)

    async def _identify(self, plan: LaunchPlan, pin: str) -> None:
        version = await launch.read_back_version(
            base_url=plan.base_url, path=self._adapter.version_path(), pin=pin
        )
        path, info = self._adapter.info_path(), None
        if path is not None:
            reply = await asyncio.to_thread(endpoint.ask, plan.base_url, path, timeout_s=_ECHO_S)
            info = reply.json() if reply.ok else None
        if isinstance(info, dict):
            self._record.write_document(layout.SERVER_INFO, info)
        known = json.loads(self._workspace.launch.read_bytes())
        write_json(self._workspace.launch, {**known, "version": version})
        self._record.log.write(
            SessionEvent.identified, version=version, server_info=isinstance(info, dict)
        )


def _not_seen(spec: Mapping[str, Any], version: str | None) -> Iterator[Gap]:
    """What a run against an endpoint elsewhere cannot know; none of it is ever filled in."""
    model = spec["engine"]["settings"]["model"]
    yield Gap(
        what="server ledger: not evidenced, the endpoint is seen from its socket alone",
        affects="server states, queueing, prefill and decode times, KV state, what a cancellation freed",
        needed="an engine that this installation launches, or its own event record",
        state="open",
    )
    yield Gap(
        what=f"artifact identity: which bytes the endpoint serves as {model} is not known",
        affects="every comparison with another run, and all work and capacity figures",
        needed="weights, tokenizer and template pinned by whoever runs the endpoint",
        state="open",
    )
    if version is None:
        yield Gap(
            what="the endpoint states no version of its engine",
            affects="every statement about a version",
            needed="an endpoint that answers /version",
            state="open",
        )
    if spec["artifact"]["tokenizer"] is None:
        yield Gap(
            what="prompt lengths are declared in words: no tokenizer is pinned",
            affects="input tokens of the plan; what is reported as input tokens is the server's own usage",
            needed="an artifact with a tokenizer in the declaration",
            state="open",
        )
