"""Scheduled runs as rows and files: each a start with an identity and one number."""

import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from assay.accounts.services import main_project
from assay.archive.paths import Home
from assay.ledger.ids import uuid7
from assay.ledger.models import Bundle, Interpretation, Measure, Run, Study
from assay.regressions.models import Firing, FiringState, Schedule, Watch
from experiments.compose import compose
from experiments.plan import plan
from runners.protocol import layout

RULE, STATISTIC = "tpot.last_token", "p50"
BEGAN = datetime(2027, 1, 1, tzinfo=UTC)


@dataclass
class Laboratory:
    """A schedule that watches one metric, and what its fresh starts will give."""

    home: Home
    schedule: Schedule
    watch: Watch
    fresh: list[float] = field(default_factory=list)  # values of the fresh starts to come
    asked: list[str] = field(default_factory=list)  # spec digests of those that were asked for
    fired: int = 0

    def fire(self, value: float | None, **more: Any) -> Run:
        """The next slot of the schedule, with its run ended."""
        self.fired += 1
        study = Study.objects.create(id=uuid7(), name="nightly")
        run = add_run(self.home, study, value, **more)
        Firing.objects.create(
            schedule=self.schedule,
            slot=BEGAN + timedelta(days=self.fired),
            due_at=BEGAN,
            state=FiringState.submitted,
            study=study,
        )
        return run

    def rerun(self, run: Run) -> Study:
        study = Study.objects.create(id=uuid7(), name="fresh start")
        self.asked.append(run.spec_digest)
        add_run(self.home, study, self.fresh.pop(0), engine=run.engine_version)
        return study


def laboratory(home: Home, *, variable: str = "") -> Laboratory:
    schedule = Schedule.objects.create(
        project=main_project(),
        name="nightly",
        overrides=["study=nightly"],
        cron="0 2 * * *",
        variable=variable,
        owner="ada",
        looked_until=BEGAN,
    )
    watch = Watch.objects.create(schedule=schedule, rule=RULE, statistic=STATISTIC, better="less")
    return Laboratory(home=home, schedule=schedule, watch=watch)


def add_run(
    home: Home,
    study: Study,
    value: float | None,
    *,
    state: str = "sealed",
    host: str = "one",
    engine: str = "0.32.0",
    grade: str = "A",
) -> Run:
    spec = _spec()
    spec["engine"]["version"] = engine
    run = Run.objects.create(
        id=uuid7(),
        study=study,
        position=0,
        spec=spec,
        spec_digest=hashlib.sha256(engine.encode()).hexdigest(),
        artifact_name="model",
        engine_key="vllm",
        engine_version=engine,
        device_name="cpu",
        state=state,
    )
    if state == "sealed":
        _seal(home, run, value, host=host, grade=grade)
    return run


@cache
def _text() -> str:
    return plan([compose(["study=smollm2_vllm"])])[0].text.decode()


def _spec() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_text())
    return found


def _seal(home: Home, run: Run, value: float | None, *, host: str, grade: str) -> None:
    digest = hashlib.sha256(str(run.pk).encode()).hexdigest()
    folder = home.bundle(digest)
    folder.mkdir(parents=True)
    (folder / layout.HOST).write_text(json.dumps({"fingerprint": host}))
    (folder / layout.IDENTITY).write_text(json.dumps({"artifact": {"digest": "a" * 64}}))
    (folder / layout.PACKAGES).write_text(
        json.dumps({"environments": [{"role": "engine", "sha256": "e" * 64}]})
    )
    bundle = Bundle.objects.create(
        digest=digest,
        run=run,
        execution_id=uuid7(),
        state="sealed",
        spec_digest=run.spec_digest,
        bytes=1,
        files=3,
        level="E2",
        identity_complete=True,
        sealed_at=BEGAN,
    )
    reading = Interpretation.objects.create(bundle=bundle, definition_version="1", digest="d" * 64)
    derived = home.derived / digest / "1"
    derived.mkdir(parents=True)
    document = {"grade": {"letter": grade, "reasons": ["others used 1.2 cores"]}}
    (derived / "interpretation.json").write_text(json.dumps(document))
    if value is not None:
        Measure.objects.create(
            interpretation=reading,
            rule=RULE,
            statistic=STATISTIC,
            value=value,
            kind="finite",
            unit="s",
            n=10,
            of=10,
            perspective="client",
            limited_by=bundle.level,
        )
