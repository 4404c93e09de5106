"""Are a ramp, the stages or a trace of the load ones that can be followed?"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from experiments.checks.policy import Policy
from experiments.errors import Finding

MAX_STAGES = 100
MAX_CONCURRENCY = 100_000
_SHA256 = re.compile(r"[0-9a-f]{64}")


def check(document: Mapping[str, Any], policy: Policy) -> Iterator[Finding]:
    """Everything that is wrong with the profile that ``load.kind`` uses."""
    load = document["load"]
    if load["kind"] == "ramp":
        yield from _ramp(load["ramp"])
    elif load["kind"] == "staged":
        yield from _stages(load["stages"])
    elif load["kind"] == "trace":
        yield from _trace(load["trace"], document["workload"], policy)


def _ramp(ramp: Mapping[str, Any] | None) -> Iterator[Finding]:
    if ramp is None:
        yield _wrong("load.ramp", "null", "rates and a duration", "Say from where to where.")
        return
    rates = ramp["from_rate_per_s"], ramp["to_rate_per_s"]
    for name, rate in zip(("from_rate_per_s", "to_rate_per_s"), rates, strict=True):
        if not 0 <= rate < math.inf:
            yield _wrong(f"load.ramp.{name}", rate, "0 or above", "Correct the rate.")
    if max(rates) == 0:
        yield _wrong("load.ramp", "0 to 0", "a rate above 0 at one end", "It would send nothing.")
    if not 0 < ramp["duration_s"] < math.inf:
        yield _wrong("load.ramp.duration_s", ramp["duration_s"], "above 0", "Say how long.")


def _stages(stages: list[Mapping[str, Any]]) -> Iterator[Finding]:
    if not 1 <= len(stages) <= MAX_STAGES:
        yield _wrong("load.stages", f"{len(stages)} stages", f"1 to {MAX_STAGES}", "List them.")
    paces = {name for s in stages for name in ("rate_per_s", "concurrency") if s[name] is not None}
    if len(paces) > 1:
        remedy = "An open loop does not wait for answers and a closed one has no rate: use one study each."
        yield _wrong("load.stages", "rates and concurrencies", "one of the two", remedy)
    for index, stage in enumerate(stages):
        yield from _stage(stage, f"load.stages.{index}")


def _stage(stage: Mapping[str, Any], where: str) -> Iterator[Finding]:
    rate, concurrency = stage["rate_per_s"], stage["concurrency"]
    duration_s, requests = stage["duration_s"], stage["requests"]
    if (rate is None) == (concurrency is None):
        yield _wrong(where, f"rate {rate}, concurrency {concurrency}", "one of them", "Say which.")
    elif concurrency is not None and not 1 <= concurrency <= MAX_CONCURRENCY:
        allowed = f"1 to {MAX_CONCURRENCY}"
        yield _wrong(f"{where}.concurrency", concurrency, allowed, "Say how many workers send.")
    elif rate is not None and not (0 < rate < math.inf or (rate == 0 and duration_s is not None)):
        allowed = "above 0 (0 for a pause with a duration)"
        yield _wrong(f"{where}.rate_per_s", rate, allowed, "Say how many requests a second.")
    if (duration_s is None) == (requests is None):
        seen = f"duration_s {duration_s}, requests {requests}"
        yield _wrong(where, seen, "one of them", "Say how long the stage lasts.")
    elif duration_s is not None and not 0 < duration_s < math.inf:
        yield _wrong(f"{where}.duration_s", duration_s, "above 0", "Say how long.")
    elif requests is not None and requests < 1:
        yield _wrong(f"{where}.requests", requests, "at least 1", "Say how many.")


def _trace(
    trace: Mapping[str, Any] | None, workload: Mapping[str, Any], policy: Policy
) -> Iterator[Finding]:
    if trace is None:
        yield _wrong("load.trace", "null", "a trace file with its sha256", "Name the trace.")
        return
    if not policy.allows_file(str(trace["path"])):
        roots = ", ".join(policy.artifact_roots) or "none configured"
        allowed = f"an absolute path below an allowed root ({roots})"
        remedy = "Move the file there, or allow its root in the settings (ASSAY_ARTIFACT_ROOTS)."
        yield _wrong("load.trace.path", trace["path"], allowed, remedy)
    if not _SHA256.fullmatch(str(trace["sha256"])):
        allowed = "64 hexadecimal digits"
        yield _wrong("load.trace.sha256", trace["sha256"], allowed, "Pin it: sha256sum FILE.")
    if not 0 < trace["speed"] < math.inf:
        yield _wrong("load.trace.speed", trace["speed"], "above 0", "1 is as recorded.")
    if not 0 <= trace["start_s"] < math.inf:
        yield _wrong("load.trace.start_s", trace["start_s"], "0 or above", "Correct it.")
    for name in ("max_input_tokens", "max_output_tokens"):
        most = trace[name]
        if most is not None and (most < 1 or trace["lengths"] != "trace"):
            allowed = "null, or at least 1 with load.trace.lengths: trace"
            yield _wrong(f"load.trace.{name}", most, allowed, "Correct it.")
    if trace["lengths"] == "trace" and workload["prompt_source"] != "synthetic":
        remedy = "A given text has the length it has; take the lengths from the workload."
        yield _wrong("load.trace.lengths", "trace", "workload, with given prompts", remedy)


def _wrong(field: str, seen: Any, allowed: str, remedy: str) -> Finding:
    return Finding(field=field, seen=str(seen), allowed=allowed, remedy=remedy)
