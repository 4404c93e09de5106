"""What the template of every page of a run is given."""

from typing import Any

from assay.pages.contexts.head import RunHead
from assay.pages.contexts.progress import progress_of
from assay.pages.contexts.review_discussion import Said


def run_context(head: RunHead, page: object, **more: Any) -> dict[str, Any]:
    """A live run brings its progress along, since its head shows it on every page."""
    going = {"progress": progress_of(head.run)} if head.live else {}
    said = Said(head.run.pk)
    return {"head": head, "page": page, "said": said, "section": "runs", **going, **more}
