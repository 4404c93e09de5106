"""Whether a machine has what a run needs, and in words what it lacks. Pure."""

from assay.execution.device_names import is_same, is_seen_as, listed_name
from assay.execution.offers import Offer, OfferedDevice, OfferedEngine
from assay.ledger.needs import NeedDocument

ELSEWHERE = "url"  # somebody else runs the engine: nothing of it has to be here
_OWN_NAMES = {"cpu": ("cpu",), "cuda": ("cuda", "gpu")}


def devices_for(need: NeedDocument, offer: Offer) -> tuple[OfferedDevice, ...]:
    """Every device of the machine that the run may mean."""
    return tuple(device for device in offer.devices if is_meant(need, device))


def is_meant(need: NeedDocument, device: OfferedDevice) -> bool:
    """By the catalogue's name of it, an alias, or the driver's own name.

    A processor's name that no catalogue knows is a label of its author's; so is the name of a kind.
    """
    if need["kind"] != device.kind:
        return False
    if need["name"].lower() in _OWN_NAMES.get(device.kind, ()):
        return True
    listed = listed_name(need["name"])
    if listed is not None:
        return is_seen_as(listed, device.name)
    return device.kind == "cpu" or is_same(need["name"], device.name)


def engines_for(need: NeedDocument, offer: Offer) -> tuple[OfferedEngine, ...]:
    return tuple(
        engine
        for engine in offer.engines
        if engine.key == need["engine"]
        and engine.environment == need["environment"]
        and need["version"] in (None, engine.version)
        and need["lock_sha256"] in (None, engine.lock_sha256)
        and need["image_digest"] in (None, engine.image_digest)
    )


def lacking(need: NeedDocument, offer: Offer) -> tuple[str, ...]:
    """What keeps the run from this machine, each as words after the machine's name; empty if nothing."""
    found = []
    if need["kind"] not in offer.queues:
        found.append(f"serves no {need['kind']} runs")
    devices = devices_for(need, offer)
    if len(devices) < need["count"]:
        found.append(f"has {len(devices) or 'no'}{' x' if devices else ''} {need['name']}")
    if need["environment"] != ELSEWHERE and not engines_for(need, offer):
        found.append(_has_engines(need, offer))
    memory, wanted = offer.memory_bytes, need["host_memory_bytes"]
    if wanted is not None and (memory is None or memory < wanted):
        seen = "an unknown amount" if memory is None else f"{memory / 2**30:.3g} GiB"
        found.append(f"has {seen} of memory")
    return tuple(found)


def _has_engines(need: NeedDocument, offer: Offer) -> str:
    there = sorted({e.version for e in offer.engines if e.key == need["engine"]})
    if need["version"] in there:
        return f"has {need['engine']} {need['version']} from another lock or image"
    return f"has {need['engine']} {', '.join(there)}" if there else f"has no {need['engine']}"
