"""How a bundle's declaration says that each reply is to be read: its endpoint's dialect and tags."""

import json
from collections.abc import Iterable
from copy import copy
from pathlib import Path

import pyarrow.compute as pc

from assay.analysis.wire.declared import NOTHING_DECLARED, Declared
from assay.analysis.wire.dialects.table import of_endpoint
from assay.analysis.wire.reasoning_tags import ReasoningTags
from assay.archive.parquet_columns import read_columns
from experiments.checks.prompts import ENDPOINTS
from experiments.schema.workload import CallType
from runners.protocol import layout

_CALL_TYPE = {name: CallType(kind) for kind, names in ENDPOINTS.items() for name in names}


class DeclaredReading:
    """One ``Declared`` for each request of the plan. A plan of one endpoint is one ``Declared`` for all."""

    def __init__(self, folder: Path) -> None:
        path = folder / layout.PLAN
        self._common = NOTHING_DECLARED
        self._of_request: dict[str, Declared] = {}
        if not path.is_file():
            return
        tags = _reasoning_tags(folder / layout.SPEC)
        plan = read_columns(path, ("request_id", "endpoint"))
        known = {
            endpoint: Declared(
                dialect=of_endpoint(endpoint),
                call_type=_CALL_TYPE.get(endpoint),
                reasoning_tags=tags,
            )
            for endpoint in pc.unique(plan["endpoint"]).to_pylist()
        }
        if len(known) == 1:
            (self._common,) = known.values()
            return
        requests, endpoints = (column.to_pylist() for column in plan.columns)
        self._of_request = {
            request: known[endpoint] for request, endpoint in zip(requests, endpoints, strict=True)
        }

    def of(self, request_id: str | None) -> Declared:
        return self._of_request.get(request_id or "", self._common)

    def only(self, request_ids: Iterable[str | None]) -> "DeclaredReading":
        """The same for some requests alone, to be handed to another process."""
        found = copy(self)
        found._of_request = {
            name: self._of_request[name]
            for name in request_ids
            if name is not None and name in self._of_request
        }
        return found


def _reasoning_tags(spec: Path) -> ReasoningTags | None:
    """Declarations of earlier versions have no such rule, or one without tags."""
    declared = json.loads(spec.read_bytes()) if spec.is_file() else {}
    rule = (declared.get("workload") or {}).get("reasoning") or {}
    tags = rule.get("tags")
    return None if tags is None else ReasoningTags.of(opens=tags[0], closes=tags[1])
