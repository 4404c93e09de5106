"""Find the adapter of a declared engine, and ask it what ran without letting its faults break a sealing."""

import importlib
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from runners.catalogue import ENGINES
from runners.engines.base import EngineAdapter, EvidenceContext
from runners.protocol.documents import Gap, IdentityItem
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
            last = traceback.extract_tb(error.__traceback__)[-1]
            log.gap(
                Gap(
                    what="the engine's adapter could not read the evidence of this run: "
                    f"{type(error).__name__}: {error} ({last.filename.rpartition('/')[2]}:{last.lineno})",
                    affects="all eight items of the run identity",
                    needed="a corrected adapter; the evidence itself is in the bundle",
                    state="open",
                )
            )
            return []

    return identify
