"""Pure functions that carry an older declaration to the present schema version, one step at a time.

A new field is added by its step at the value that older runs had, so that comparing an old run with a new
one field by field starts no new series. ``STEPS[n]`` turns version n into n + 1; version 1 is the first.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from experiments.errors import refuse
from experiments.schema.root import SCHEMA_VERSION

Step = Callable[[Mapping[str, Any]], Mapping[str, Any]]

# What version 2 added, by its place, at the value that runs of version 1 had.
ADDED_IN_2: Mapping[str, Any] = MappingProxyType(
    {
        "boundary.hops": [],
        "boundary.segments": [],
        "device.interconnect": None,
        "device.price": None,
        "device.host_memory_bytes": None,
        "engine.environment.image": None,
        "engine.environment.image_root": "read_only",
        "engine.parallel": {"data": 1, "tensor": 1, "pipeline": 1, "expert": 1},
        "engine.settings.max_request_s": None,
        "engine.settings.injected_delay_s": 0.0,
        "load.timeouts.between_reads_s": None,
        "load.burstiness": None,
        "load.processes": 1,
        "load.ramp": None,
        "load.retry.backoff_max_s": None,
        "load.retry.budget_ratio": None,
        "load.retry.deadline_s": None,
        "load.retry.retry_after": "ignore",
        "load.stages": [],
        "load.stop": {
            "max_duration_s": None,
            "max_requests": None,
            "max_errors": None,
            "max_error_share": None,
            "error_share_after": 20,
            "saturation": None,
        },
        "load.think_cv": None,
        "load.think_time": "constant",
        "load.trace": None,
        "load.workers": 0,
        "evidence.calibrate_client": False,
        "workload.cancel": None,
        "workload.cancel_share": 0.0,
        "workload.session": None,
        "workload.branching": None,
        "workload.tool_use": None,
        "workload.reasoning": None,
        "workload.structured": None,
        "workload.media": [],
        "workload.file": None,
        "workload.input_lengths": None,
        "workload.output_lengths": None,
        "workload.shared_prefixes": 1,
        "workload.scoring": None,
        "workload.disjoint": "run",  # every run of a study had the same prompts
    }
)


def _to_2(document: Mapping[str, Any]) -> Mapping[str, Any]:
    for place, value in ADDED_IN_2.items():
        document = _with(document, place.split("."), value)
    return document


STEPS: Mapping[int, Step] = MappingProxyType({1: _to_2})


def migrate(
    document: Mapping[str, Any],
    *,
    steps: Mapping[int, Step] = STEPS,
    target: int = SCHEMA_VERSION,
) -> Mapping[str, Any]:
    """The same declaration at schema version ``target``. Raises Refusal for a version it cannot read."""
    version = document.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version <= target:
        raise refuse(
            field="schema_version",
            seen=version,
            allowed=f"1 to {target}",
            remedy="Read it with the version of Assay that wrote it, or a later one.",
        )
    while version < target:
        step = steps.get(version)
        if step is None:
            raise refuse(
                field="schema_version",
                seen=version,
                allowed=f"{target}, or a version with a migration step",
                remedy=f"No step from {version} to {version + 1} is known.",
            )
        version += 1
        document = {**step(document), "schema_version": version}
    return document


def _with(document: Mapping[str, Any], keys: list[str], value: Any) -> Mapping[str, Any]:
    key, *inner = keys
    added = _with(document.get(key, {}), inner, value) if inner else document.get(key, value)
    return {**document, key: added}
