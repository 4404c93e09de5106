"""How a bundle's declaration says that each reply is to be read: the dialect of its planned endpoint."""

from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from assay.analysis.wire.declared import NOTHING_DECLARED, Declared
from assay.analysis.wire.dialects.table import of_endpoint
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
        plan = pq.read_table(path, columns=["request_id", "endpoint"])
        known = {
            endpoint: Declared(dialect=of_endpoint(endpoint), call_type=_CALL_TYPE.get(endpoint))
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
