"""From a bundle to what its energy and cost are read from: meters' readings, the declared price."""

from collections.abc import Mapping
from typing import Any

from assay.analysis.energy.drawn import METRICS, Meter
from assay.analysis.energy.figures import Metering
from assay.archive.readers import Bundle
from assay.archive.telemetry_reading import readings_of
from runners.protocol import layout

_URL = "url"  # ``EnvironmentKind.url``, whose module knows every setting of every engine: not loaded for this
_ELSEWHERE = "the engine runs elsewhere: the meters of this host do not see it"
_FACTS = {
    Meter.accelerator: ("nvml_devices", "amd_devices"),
    Meter.cpu_package: ("energy_counters",),
}


def metering(source: Bundle) -> Metering:
    spec: dict[str, Any] = source.document(layout.SPEC) or {}
    device = spec.get("device") or {}
    environment = (spec.get("engine") or {}).get("environment") or {}
    is_elsewhere = environment.get("kind") == _URL
    facts = (source.document(layout.HOST) or {}).get("facts") or {}
    return Metering(
        readings=() if is_elsewhere else readings_of(source, METRICS),
        absent=dict.fromkeys(Meter, _ELSEWHERE) if is_elsewhere else _absent(facts),
        price=device.get("price"),
        devices=int(device.get("count") or 1),
    )


def _absent(facts: Mapping[str, Mapping[str, Any]]) -> dict[Meter, str]:
    """Why a meter has no reading: what every way of asking it lacks."""
    found = {}
    for meter, names in _FACTS.items():
        known = [facts[name] for name in names if name in facts]
        reasons = [str(fact["reason"]) for fact in known if fact.get("reason")]
        if known and len(reasons) == len(known):
            found[meter] = "; ".join(reasons)
    return found
