"""A sealed run's replies served again, as they came: for demonstrations, and for tests of everything else."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runners.engines.base import (
    EvidenceContext,
    LaunchContext,
    LaunchPlan,
    Printed,
    PrintedContext,
)
from runners.engines.replay import identity
from runners.engines.replay.settings import ReplaySettings, replay_settings
from runners.engines.replay.versions import VERSION
from runners.protocol import layout
from runners.protocol.documents import IdentityItem
from runners.protocol.errors import Finding, Refused, RunnerError
from runners.protocol.series import SeriesMap

HOST = "127.0.0.1"
_ROOT = Path(__file__).resolve().parents[3]


class ReplayAdapter:
    key = "replay"

    def environment_problem(self, spec: Mapping[str, Any]) -> str | None:
        engine = spec["engine"]
        if engine["environment"]["kind"] != "platform":
            return (
                f"engine.environment.kind is {engine['environment']['kind']}; a replay runs in Assay's own "
                "environment. Set engine.environment.kind=platform"
            )
        if engine["version"] != VERSION:
            return f"engine.version is {engine['version']} and this replay is {VERSION}"
        try:
            settings = replay_settings(engine["settings"])
        except RunnerError as error:
            return str(error)
        if not (Path(settings.bundle) / layout.MANIFEST).is_file():
            return f"{settings.bundle} holds no sealed bundle. Set engine.settings.bundle"
        return None

    def launch(self, context: LaunchContext) -> LaunchPlan:
        settings = replay_settings(context.spec["engine"]["settings"])
        return LaunchPlan(
            command=[
                sys.executable,
                "-m",
                "runners.engines.replay",
                "--bundle",
                str(_below(settings, context)),
                "--digest",
                settings.bundle_digest,
                "--port",
                str(context.port),
                "--speed",
                str(settings.speed),
            ],
            environment={"PYTHONPATH": str(_ROOT), "PYTHONUNBUFFERED": "1"},
            base_url=f"http://{HOST}:{context.port}",
            events_file=None,  # a replay has no inside of its own
            clock_domain=None,
        )

    def health_path(self) -> str:
        return "/health"

    def version_path(self) -> str:
        return "/version"

    def info_path(self) -> str | None:
        return "/server_info"

    def metrics_path(self) -> str | None:
        return None

    def series(self) -> SeriesMap:
        return {}

    def profile_start(self) -> tuple[str, str, Mapping[str, Any]] | None:
        return None

    def profile_stop(self) -> tuple[str, str, Mapping[str, Any]] | None:
        return None

    def printed(self, context: PrintedContext) -> Printed:
        return Printed()  # no model ran

    def identity(self, context: EvidenceContext) -> list[IdentityItem]:
        return identity.items(context)


def _below(settings: ReplaySettings, context: LaunchContext) -> Path:
    """The bundle's folder with links resolved, if it lies below an allowed root."""
    real = Path(settings.bundle).resolve()
    if not any(real.is_relative_to(root.resolve()) for root in context.roots):
        raise Refused(
            Finding(
                field="engine.settings.bundle",
                seen=settings.bundle,
                allowed="a folder below an allowed root "
                f"({', '.join(map(str, context.roots)) or 'none configured'})",
                remedy="Move it there, or allow its root (ASSAY_ARTIFACT_ROOTS).",
            )
        )
    return real


ADAPTER = ReplayAdapter()
