"""Find the adapter of a declared engine, and ask it what ran without letting its faults break a sealing."""

import importlib
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from runners.catalogue import ENGINES
from runners.engines.base import EngineAdapter, EvidenceContext, Printed, PrintedContext
from runners.protocol import layout
from runners.protocol.documents import Anchor, Gap, IdentityItem
from runners.protocol.errors import EnvironmentLacks, Finding, Refused
from runners.protocol.session_log import SessionLog
from runners.protocol.workspace import Workspace, read_json


def adapter_for(key: str) -> EngineAdapter:
    """The adapter of the catalogue under this key, imported only now.

    Raises Refused for an unknown key, EnvironmentLacks where the adapter's packages are not installed.
    """
    entry = ENGINES.get(key)
    if entry is None:
        raise Refused(
            Finding(
                field="engine.key",
                seen=key,
                allowed=", ".join(sorted(ENGINES)),
                remedy="Choose an engine of the catalogue.",
            )
        )
    module, _, name = entry.adapter.partition(":")
    try:
        return cast(EngineAdapter, getattr(importlib.import_module(module), name))
    except ImportError as error:
        raise EnvironmentLacks(
            Finding(
                field="engine.environment",
                seen=f"{entry.label} cannot be loaded: {error}",
                allowed="an installed engine",
                remedy=f"pip install 'assay[{key}]'",
            )
        ) from error


def identify_with(
    workspace: Workspace, log: SessionLog
) -> Callable[[Mapping[str, Any] | None], Sequence[IdentityItem]]:
    """The eight items by the engine's adapter; none, and a gap, when the adapter fails on this evidence."""
    spec = workspace.spec()
    started = read_json(workspace.launch) or {}

    def identify(server_info: Mapping[str, Any] | None) -> Sequence[IdentityItem]:
        try:
            return adapter_for(spec["engine"]["key"]).identity(
                EvidenceContext(
                    spec=spec,
                    bundle=workspace.bundle,
                    base_url=started.get("base_url", ""),
                    server_info=server_info,
                    version=started.get("version"),
                )
            )
        except Exception as error:  # noqa: BLE001 - a captured run must be sealed whatever an adapter does
            log.gap(_unreadable(error, "all eight items of the run identity"))
            return []

    return identify


def printed_by(
    workspace: Workspace, log: SessionLog
) -> Callable[[Sequence[Anchor], str], Sequence[Mapping[str, Any]]]:
    """Events that the engine's adapter reads out of its log; what it cannot read is a gap."""
    spec = workspace.spec()

    def rows(anchors: Sequence[Anchor], clock_domain: str) -> Sequence[Mapping[str, Any]]:
        context = PrintedContext(
            spec=spec,
            bundle=workspace.bundle,
            server_info=read_json(workspace.bundle / layout.SERVER_INFO),
            anchors=anchors,
            clock_domain=clock_domain,
        )
        try:
            found = adapter_for(spec["engine"]["key"]).printed(context)
        except Exception as error:  # noqa: BLE001 - a captured run must be sealed whatever an adapter does
            found = Printed(gaps=[_unreadable(error, "the engine's events out of its log")])
        for gap in found.gaps:
            log.gap(gap)
        return found.rows

    return rows


def _unreadable(error: Exception, affects: str) -> Gap:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return Gap(
        what="the engine's adapter could not read the evidence of this run: "
        f"{type(error).__name__}: {error} ({last.filename.rpartition('/')[2]}:{last.lineno})",
        affects=affects,
        needed="a corrected adapter; the evidence itself is in the bundle",
        state="open",
    )
