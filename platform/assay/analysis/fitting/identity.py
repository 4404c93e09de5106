"""What a calibration belongs to, and which cell of a scan a run is: both read from the declaration."""

import hashlib
from collections.abc import Mapping
from typing import Any

from assay.analysis.calibration import Identity
from assay.analysis.fitting.split import Cell
from runners.protocol.manifest import canonical

# Engine settings that say how much fits and when to stop, not how long a given step takes.
_LIMITS = frozenset(
    {
        *("max_batch", "token_budget", "kv_blocks", "max_length", "when_out_of_blocks"),
        *("max_request_s", "max_num_seqs", "max_num_batched_tokens", "max_num_queued_reqs"),
        *("max_model_len", "kv_cache_gib", "gpu_memory_utilization", "seed"),
    }
)
MOVED = (  # the variables of a scan, as a cell names them
    ("workload", "input_tokens", "in"),
    ("workload", "output_tokens", "out"),
    ("load", "concurrency", "at once"),
    ("workload", "ignore_eos", "fixed length"),
)


def identity_of(spec: Mapping[str, Any], *, fingerprint: str) -> Identity:
    """The machine, engine, model and settings that a step's time depends on."""
    engine, artifact = spec["engine"], spec["artifact"]
    settings = engine.get("settings") or {}
    model = {"config": artifact.get("config"), "precision": artifact.get("precision")}
    return Identity(
        host_fingerprint=fingerprint,
        engine=str(engine["key"]),
        engine_version=str(engine.get("version")),
        artifact=hashlib.sha256(canonical(model)).hexdigest(),
        settings={
            **{name: value for name, value in settings.items() if name not in _LIMITS},
            "device": spec.get("device"),
        },
    )


def cell_of(spec: Mapping[str, Any]) -> Cell:
    """The cell of a run; repetitions of one declaration share it.

    A declared output is a limit when the answer stops by itself; then the name says so.
    """
    values = {f"{group}.{field}": spec[group].get(field) for group, field, _ in MOVED}
    rule = "out" if spec["workload"].get("ignore_eos") else "out at most"
    name = (
        f"{values['workload.input_tokens']} in, {values['workload.output_tokens']} {rule}, "
        f"{values['load.concurrency'] or 'open loop'} at once"
    )
    return Cell(name=name, values=values)
