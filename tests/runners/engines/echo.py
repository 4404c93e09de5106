"""The adapter of the echo engine. It is in no catalogue but the one that the tests' own entry point makes."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runners.engines.base import EvidenceContext, LaunchContext, LaunchPlan
from runners.protocol import layout
from runners.protocol.clocks import clock_domain
from runners.protocol.documents import IDENTITY_ITEMS, Evidence, IdentityItem
from runners.protocol.series import SeriesMap

SERVER = Path(__file__).with_name("echo_server.py")


class EchoAdapter:
    key = "echo"

    def environment_problem(self, spec: Mapping[str, Any]) -> str | None:
        return spec["engine"]["settings"].get("problem")

    def launch(self, context: LaunchContext) -> LaunchPlan:
        settings = context.spec["engine"]["settings"]
        events = context.bundle / layout.ENGINE_EVENTS
        trace = context.bundle / layout.TRACE_FOLDER / "trace.json"
        command = [sys.executable, "-S", str(SERVER), "--port", str(context.port)]
        command += ["--events", str(events), "--trace", str(trace)]
        command += ["--version", settings.get("runs_version", context.spec["engine"]["version"])]
        command += ["--delay", str(settings.get("delay_s", 0.002))]
        return LaunchPlan(
            command=[*command, *settings.get("faults", [])],
            environment={},
            base_url=f"http://127.0.0.1:{context.port}",
            events_file=events,
            clock_domain=clock_domain(),
        )

    def health_path(self) -> str:
        return "/health"

    def version_path(self) -> str:
        return "/version"

    def info_path(self) -> str | None:
        return "/server_info"

    def metrics_path(self) -> str | None:
        return "/metrics"

    def series(self) -> SeriesMap:
        return {}

    def profile_start(self) -> tuple[str, str, Mapping[str, Any]] | None:
        return ("POST", "/start_profile", {})

    def profile_stop(self) -> tuple[str, str, Mapping[str, Any]] | None:
        return ("POST", "/stop_profile", {})

    def identity(self, context: EvidenceContext) -> list[IdentityItem]:
        if context.spec["engine"]["settings"].get("broken_identity"):
            raise KeyError("no such line in the log")
        return [
            IdentityItem(
                item=name,
                declared="echo",
                ran="echo",
                strength="log",
                evidence=[
                    Evidence(
                        strength="log",
                        statement="the engine said so",
                        pointer={"file": layout.SERVER_INFO},
                        conditions={},
                        engine_version=context.version or "",
                        t_ns=None,
                    )
                ],
                reason=None,
            )
            for name in IDENTITY_ITEMS
            if name not in context.spec["engine"]["settings"].get("unidentified", [])
        ]


ADAPTER = EchoAdapter()
