"""A summary of a bundle that was never written, for tests of the index alone."""

from datetime import UTC, datetime
from typing import Any

from assay.archive.summary import BundleSummary
from assay.ledger.models import Run
from runners.protocol.documents import ArtifactIdentity
from runners.protocol.events import ResourceLimit, RunState

ARTIFACT: ArtifactIdentity = {
    "digest": "9" * 64,
    "name": "small-model",
    "revision": "small==1+sha256:" + "8" * 64,
    "source": {},
    "parent": None,
    "files": [],
    "config": {},
    "precision": {},
    "tokenizer": {},
    "chat_template": {},
    "tools": {},
    "generation": {},
    "reproducibility": {},
    "packages": {},
    "gaps": [],
}


def summary(run: Run | None = None, **changes: Any) -> BundleSummary:
    facts: dict[str, Any] = {
        "digest": "c" * 64,
        "run_id": str(run.id) if run else None,
        "execution_id": None,
        "state": RunState.sealed,
        "reason": "",
        "study": "smoke",
        "repetition": 0,
        "spec": run.spec if run else {},
        "spec_digest": run.spec_digest if run else "a" * 64,
        "plan_digest": "b" * 64,
        "bytes": 10,
        "files": 2,
        "level": ResourceLimit.E2,
        "identity_complete": True,
        "artifact": ARTIFACT,
        "sealed_at": datetime(2026, 11, 29, 12, tzinfo=UTC),
    }
    return BundleSummary(**{**facts, **changes})
