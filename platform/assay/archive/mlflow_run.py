"""A run as MLflow holds one: parameters as declared, metrics under their rule ids, digests as tags.

A measure that has no finite value is no metric there: that tracker turns what is no number into one. It is
named in a tag with its reason, and stands in the interpretation that goes along as an artifact.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from assay.archive.readers import Bundle
from assay.archive.stored_reading import INTERPRETATION, StoredReading
from experiments.schema.fields import leaves

MAX_VALUE = 6000  # characters of a parameter
MAX_TAG = 5000
_ODD = re.compile(r"[^A-Za-z0-9_./ -]")


@dataclass(frozen=True, slots=True, kw_only=True)
class MlflowRun:
    """``artifacts`` are file names and bytes; times are ms since 1970."""

    experiment: str
    name: str
    start_ms: int
    end_ms: int
    status: str
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    artifacts: Mapping[str, bytes]


def mlflow_run(bundle: Bundle, reading: StoredReading) -> MlflowRun:
    header = bundle.header
    spec = bundle.document("spec.json") or {}
    document = reading.run()
    start_ms, end_ms = _times(bundle)
    metrics, absent = _metrics(document["aggregates"])
    tags = {
        "assay.run_id": header.get("run_id"),
        "assay.state": header.get("state"),
        "assay.spec_digest": header.get("spec_digest"),
        "assay.plan_digest": header.get("plan_digest"),
        "assay.bundle_digest": bundle.digest,
        "assay.definition_version": document["definition_version"],
        "assay.level": header.get("level"),
        "assay.open_gaps": str(sum(gap["state"] == "open" for gap in document["gaps"])),
        "assay.absent": json.dumps(absent, ensure_ascii=False)[:MAX_TAG] if absent else None,
    }
    return MlflowRun(
        experiment=str(header.get("study") or "assay"),
        name=" ".join(filter(None, [header.get("study"), str(header.get("run_id") or "")[-12:]]))
        or bundle.digest[:12],
        start_ms=start_ms,
        end_ms=end_ms,
        status="FINISHED" if header.get("state") == "sealed" else "FAILED",
        params=dict(_params(spec)),
        metrics=metrics,
        tags={name: str(value) for name, value in tags.items() if value},
        artifacts={
            INTERPRETATION: (reading.folder / INTERPRETATION).read_bytes(),
            "spec.json": (bundle.folder / "spec.json").read_bytes(),
        },
    )


def _params(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every declared value by its path."""
    for leaf in leaves(spec):
        text = leaf.value if isinstance(leaf.value, str) else json.dumps(leaf.value)
        yield _ODD.sub("_", leaf.path), text[:MAX_VALUE]


def _metrics(
    aggregates: Sequence[Mapping[str, Any]],
) -> tuple[dict[str, float], dict[str, str]]:
    """``rule/statistic`` -> value; of several populations each but the first says which it is."""
    found: dict[str, float] = {}
    absent: dict[str, str] = {}
    for one in aggregates:
        name = _ODD.sub("_", f"{one['rule']}/{one['statistic']}")
        if name in found or name in absent:
            name = _ODD.sub("_", f"{name}/{one['population']}")[:250]
        value = one["value"]
        if value is None:
            absent.setdefault(name, str(one.get("special") or one.get("absent") or "no value"))
        else:
            found.setdefault(name, float(value))
    return found, absent


def _times(bundle: Bundle) -> tuple[int, int]:
    """The run's first and last anchor, else the time of its sealing."""
    walls = [anchor["wall_ns"] // 10**6 for anchor in bundle.clocks.get("anchors") or []]
    if walls:
        return min(walls), max(walls)
    sealed = datetime.fromisoformat(str(bundle.header["sealed_at"]).replace("Z", "+00:00"))
    at = int(sealed.timestamp() * 1000)
    return at, at
