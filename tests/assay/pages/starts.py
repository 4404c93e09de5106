"""More fresh starts in the laboratory: its sweep has one of each; a comparison of sides wants several."""

from typing import Any

from assay.ledger.ids import uuid7
from assay.ledger.models import Run
from tests.assay.pages import factory, simulated_bundle
from tests.assay.pages.factory import BEGAN, Laboratory


def add_start(
    lab: Laboratory, concurrency: int, repetition: int, *, scale: float = 1.0, **parts: Any
) -> Run:
    """A further sealed run of one of the sweep's configurations; ``scale`` slows every time of it.

    ``parts`` set fields of the declaration to something else: ``boundary={"sut": ...}``.
    """
    spec = simulated_bundle.spec(concurrency)
    for part, values in parts.items():
        spec[part] = {**spec[part], **values}
    run = Run.objects.create(
        id=uuid7(),
        study=lab.study,
        position=100 + Run.objects.count(),
        repetition=repetition,
        spec=spec,
        spec_digest=simulated_bundle.SPEC_DIGEST,
        variables={"load.concurrency": concurrency},
        artifact=lab.artifact,
        artifact_name=lab.artifact.name,
        engine_key="torch",
        engine_version="2.13.0",
        device_name="cpu-2core",
        state="sealed",
        started_at=BEGAN,
        ended_at=BEGAN,
    )
    factory.seal(lab.home, run, scale=scale)
    return run
