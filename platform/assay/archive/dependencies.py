"""The external dependencies of a bundle, accounted one by one: declared in its spec, called by its plan."""

from collections.abc import Sequence

import pyarrow.compute as pc
import pyarrow.parquet as pq

from assay.analysis.dependencies import DependencyAccount, account, injected_calls
from assay.analysis.wire.attempt import Attempt
from assay.archive.parquet_columns import read_columns
from assay.archive.readers import Bundle
from runners.protocol import layout


def dependency_accounts(bundle: Bundle, attempts: Sequence[Attempt]) -> list[DependencyAccount]:
    """One account for each; an older bundle, whose plan names none, has those that it declared."""
    declared = (bundle.document(layout.SPEC) or {}).get("boundary") or {}
    planned = _rows(bundle, layout.PLAN, ("request_id", "dependency"))
    calls = injected_calls(
        planned,
        _rows(bundle, layout.SENT_INPUTS, ("request_id", "ready_ns")),
        _created(attempts, origin_ns=bundle.origin_ns) if planned else {},
        clock_domain=bundle.client_domain,
    )
    return account(calls, declared.get("external_dependencies") or ())


def _created(attempts: Sequence[Attempt], *, origin_ns: int) -> dict[str, int]:
    """When each request's first attempt was made."""
    created: dict[str, int] = {}
    for attempt in attempts:
        request, t_ns = attempt.ids.request_id, attempt.created_ns
        if request is not None and t_ns is not None:
            created.setdefault(request, t_ns + origin_ns)
    return created


def _rows(bundle: Bundle, name: str, columns: tuple[str, ...]) -> list[dict[str, object]]:
    path = bundle.folder / name
    if not path.is_file() or not set(columns) <= set(pq.read_schema(path).names):
        return []
    table = read_columns(path, columns)
    found: list[dict[str, object]] = table.filter(pc.is_valid(table[columns[1]])).to_pylist()
    return found
