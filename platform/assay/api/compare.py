"""Two to eight runs compared: who they are, over what, and, where allowed, by how much they differ."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest
from ninja import Router
from ninja.params import functions as parameters

from assay.analysis.comparability.comparison import compare_runs
from assay.analysis.comparability.document import comparison_document
from assay.api.doors import access_of
from assay.api.errors import answers
from assay.api.throttle import PerMinute
from assay.ledger.comparing import records
from assay.ledger.visibility import visible_runs

router = Router(tags=["compare"])
RUNS = parameters.Query(..., min_length=1, max_length=32)


@router.get("/compare", response=answers(dict[str, Any]), throttle=PerMinute("compare", 60))
def compare(request: HttpRequest, run: list[UUID] = RUNS) -> dict[str, Any]:
    """What ``assay compare --json`` prints; the first ``run`` is the reference. A refusal is an answer."""
    own = {
        r.id: r for r in visible_runs(access_of(request)).filter(id__in=run).select_related("study")
    }
    if set(run) - set(own):
        raise Http404
    return dict(comparison_document(compare_runs(records([own[run_id] for run_id in run]))))
