"""Runs as a comparison reads them: one whole declaration, one identity, numbers where a test says so."""

import copy
from dataclasses import replace
from typing import Any

from assay.analysis.comparability.record import Number, Observed, Population, RunRecord
from runners.protocol.documents import IDENTITY_ITEMS
from tests.experiments.declarations import changed, example

VERSION = "2026.12.3"
HOST = {
    "fingerprint": "480521c904df03cc",
    "facts": {
        "cpu_model": {"value": "AMD EPYC", "role": "key", "reason": None},
        "cpu_governor": {"value": None, "role": "key", "reason": "the kernel offers no cpufreq"},
        "cgroup_cpu_quota_cores": {"value": None, "role": "key", "reason": "no quota is set"},
        "cpu_mhz": {"value": 2445.4, "role": "reading", "reason": None},
    },
}
CLIENT = {"assay": "0.1.0", "uvloop": "0.22.1", "httptools": "0.9.0"}
ENGINE = {"torch": "2.13.0", "numpy": "2.3.1"}


def identity(**items: Any) -> dict[str, Any]:
    """All eight items known; ``items`` sets what one of them ran, None for one that is not known."""
    ran: dict[str, Any] = {name: {"stated": name} for name in IDENTITY_ITEMS} | items
    return {
        "artifact": {"digest": "3f" * 32},
        "run": [
            {
                "item": name,
                "declared": None,
                "ran": value,
                "strength": "none" if value is None else "log",
                "evidence": [],
                "reason": "the engine does not say" if value is None else None,
            }
            for name, value in ran.items()
        ],
    }


def observed(*, host: dict[str, Any] | None = HOST, **items: Any) -> Observed:
    environments = [
        {"role": "client", "python": "3.11.7", "packages": CLIENT, "sha256": "c" * 64},
        {"role": "engine", "python": "3.11.7", "packages": ENGINE, "sha256": "e" * 64},
    ]
    return Observed(
        identity=identity(**items),
        host=copy.deepcopy(host),
        packages={"environments": environments},
        client_source="a1b2c3d4e5f60718",
    )


def population(completed: int = 24, **others: int) -> Population:
    """Attempts of 64 input and 24 output tokens, none of them cached, all of them ended by their cap."""
    return Population(
        group="segment load",
        states={"completed": completed, **others},
        input_lengths={64: completed},
        output_lengths={24: completed},
        prompt_tokens=64 * completed,
        cached_tokens=0,
        at_cap={"workload.output_tokens": completed},
    )


def number(value: float | None, **fields: Any) -> Number:
    made = Number(
        rule="ttft.first_content.client",
        statistic="p50",
        unit="s",
        population="completed attempts, segment load",
        perspective="client",
        limited_by="E1",
        value=value,
        n=24,
        of=24,
        low=None if value is None else value * 0.9,
        high=None if value is None else value * 1.1,
        interval_kind="95% order statistics, within this start",
        absent="" if value is not None else "too few samples for p50: 1, at least 2 are needed",
    )
    return replace(made, **fields)


def run(name: str, *overrides: str, ttft_s: float | None = 0.1, **fields: Any) -> RunRecord:
    """A sealed run of the example study under ``overrides``, all of its facts known."""
    made = RunRecord(
        run=name,
        name=name,
        state="sealed",
        spec=example(*overrides),
        observed=observed(),
        definition_versions=(VERSION,),
        definition_version=VERSION,
        population=population(),
        numbers=(number(ttft_s),),
    )
    return replace(made, **fields)


def moved(name: str, path: str, value: Any, **fields: Any) -> RunRecord:
    """The same with one declared field set to ``value``, not declared as a variable."""
    made = run(name, **fields)
    return replace(made, spec=changed(dict(made.spec), path, value))
