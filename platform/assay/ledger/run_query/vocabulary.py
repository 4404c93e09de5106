"""The names a search knows: fields, states, short names of metrics, units: literal tables, shown on pages."""

from assay.analysis.metrics.catalogue import ALL_RULES
from runners.protocol.events import LIVE_STATES, RunState

# field -> what it looks at, and an example
TEXT_FIELDS: dict[str, tuple[str, str]] = {
    "model": ("the artifact's name", "model:smollm2"),
    "engine": ("the engine's key", "engine:torch,vllm"),
    "version": ("the engine's version", "version:2.13"),
    "device": ("the device's name", "device:cpu"),
    "tag": ("a tag of the study, whole", "tag:nightly"),
    "author": ("who submitted the study; me is you", "author:me"),
    "project": ("the project's short or full name", "project:main"),
    "study": ("the study's name", 'study:"smollm2_torch"'),
}
STATE = "state"
DATE_FIELDS: dict[str, tuple[str, str]] = {
    "created": ("when it was submitted, UTC", "created:7d"),
    "ended": ("when it ended, UTC", "ended:>=2026-11-01"),
}
FIELDS = (*TEXT_FIELDS, STATE, *DATE_FIELDS)
OTHER_NAMES = {"artifact": "model"}

LIVE, ENDED = "live", "ended"
ENDED_STATES = tuple(s.value for s in RunState if s.value not in LIVE_STATES)
STATES: dict[str, tuple[str, ...]] = {
    **{s.value: (s.value,) for s in RunState},
    LIVE: LIVE_STATES,
    ENDED: ENDED_STATES,
}

# short name -> rule and the statistic it means when none is given
METRICS: dict[str, tuple[str, str]] = {
    "ttft": ("ttft.first_content.client", "p50"),
    "tpot": ("tpot.last_token", "p50"),
    "itl": ("itl.token_gap", "p50"),
    "e2e": ("e2e.client", "p50"),
    "throughput": ("throughput.output_tokens", "rate"),
    "requests": ("throughput.requests", "rate"),
    "goodput": ("goodput.ratio", "ratio"),
    "completed": ("completion_rate", "ratio"),
    "errors": ("error_rate", "ratio"),
}
STATISTICS = ("mean", "min", "p50", "p90", "p95", "p99", "max", "rate", "ratio", "count")
_SHARES_AND_RATES = {"1": "ratio", "token/s": "rate", "request/s": "rate"}

# unit of a rule -> the units it may be asked in, each as a factor; "" is a number without a unit
_TIME = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
_BYTES = {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}
_UNITS: dict[str, dict[str, float]] = {
    "s": _TIME,
    "1": {"": 1.0, "%": 0.01},
    "byte": _BYTES,
}


def units_of(unit: str) -> dict[str, float]:
    """What a number in ``unit`` may be asked in. A time has to name its unit: 500 could be ms or s."""
    return _UNITS.get(unit, {"": 1.0, unit: 1.0})


def default_statistic(rule: str) -> str:
    return _SHARES_AND_RATES.get(ALL_RULES[rule].unit, "p50")
