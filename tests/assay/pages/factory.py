"""Rows and folders of an installation with something to show: a sweep, and a run in every state."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any
from uuid import UUID

import polars as pl

from assay.analysis.documents import GradeDocument
from assay.archive.derived_schemas import ITERATIONS
from assay.archive.paths import Home
from assay.archive.stored_reading import INTERPRETATION
from assay.execution.models import Execution
from assay.ledger.ids import uuid7
from assay.ledger.indexing import index_interpretation
from assay.ledger.models import Artifact, Bundle, Run, Study
from assay.regressions.models import Finding, Schedule, Watch
from tests.assay.archive import written
from tests.assay.pages import kept, simulated, simulated_bundle
from tests.assay.pages.simulated import at

BEGAN = datetime(2026, 11, 29, 20, 58, 12, tzinfo=UTC)


@dataclass
class Laboratory:
    """What the factory made; ``run`` is the sealed run whose every page has data."""

    home: Home
    study: Study
    artifact: Artifact
    run: Run
    bundle: Bundle
    by_state: dict[str, Run] = field(default_factory=dict)
    sweep: list[Run] = field(default_factory=list)
    finding: Finding | None = None  # of a schedule of the same project


def laboratory(home: Home) -> Laboratory:
    """A study of three sealed runs over ``load.concurrency``, and another with a run in each other state."""
    artifact = Artifact.objects.create(
        digest=simulated_bundle.ARTIFACT_DIGEST,
        name="SmolLM2-135M-Instruct Q4_1",
        revision=simulated_bundle.artifact()["revision"],
        document=simulated_bundle.artifact(),
    )
    study = Study.objects.create(
        id=uuid7(),
        name="smollm2_concurrency",
        title="SmolLM2 on two CPU cores under load",
        question="How do first token and output rate move with concurrency?",
        tags=["cpu", "smoke"],
        overrides=["load.concurrency=1,2,4"],
        order_seed=7,
        owner="local",
    )
    sweep, bundles = [], []
    for position, concurrency in enumerate((2, 4, 1)):
        run = add_run(study, position, artifact=artifact, concurrency=concurrency, state="sealed")
        bundles.append(seal(home, run, scale=0.6 + concurrency / 10))
        sweep.append(run)
    made = Laboratory(
        home=home, study=study, artifact=artifact, run=sweep[1], bundle=bundles[1], sweep=sweep
    )
    other = Study.objects.create(
        id=uuid7(), name="smollm2_torch", question="Does every state show?"
    )
    reasons = {
        "failed": "the engine died at start: Killed",
        "aborted": "interrupted by the user",
        "lost": "the worker's lease ran out at 21:03:40",
        "refused": "artifact.config.h_kv: 4 (allowed: 3, as in the file). Correct the declaration.",
    }
    for position, state in enumerate(("running", "queued", "failed", "aborted", "lost", "refused")):
        run = add_run(
            other,
            position,
            artifact=None,
            state=state,
            reason=reasons.get(state, ""),
            concurrency=4,
        )
        made.by_state[state] = run
    go_on(home, made.by_state["running"])
    made.finding = finding_of(made.run)
    return made


def finding_of(run: Run) -> Finding:
    """A schedule whose newest run moved, with its finding."""
    schedule = Schedule.objects.create(
        project=run.study.project,
        name="smollm2 nightly",
        overrides=["study=smollm2_torch"],
        cron="30 2 * * *",
        zone="Europe/Berlin",
        owner="local",
        looked_until=BEGAN,
    )
    Watch.objects.create(schedule=schedule, rule="tpot.last_token", statistic="p50", better="less")
    return Finding.objects.create(
        schedule=schedule,
        run=run,
        metrics=[{"metric": "tpot.last_token p50", "change": 0.08, "reason": "+8.0%"}],
        segment="5e" * 32,
        identity=[],
        records=[],
        residuals=[],
    )


def add_run(
    study: Study,
    position: int,
    *,
    artifact: Artifact | None,
    concurrency: int,
    state: str,
    reason: str = "",
) -> Run:
    started = None if state in ("queued", "refused") else BEGAN + timedelta(minutes=2 * position)
    ended = started + timedelta(seconds=84) if started and state != "running" else None
    return Run.objects.create(
        id=uuid7(),
        study=study,
        position=position,
        spec=simulated_bundle.spec(concurrency),
        spec_digest=simulated_bundle.SPEC_DIGEST,
        variables={"load.concurrency": concurrency},
        artifact=artifact,
        artifact_name="SmolLM2-135M-Instruct Q4_1",
        engine_key="torch",
        engine_version="2.13.0",
        device_name="cpu-2core",
        state=state,
        state_reason=reason,
        started_at=started,
        ended_at=ended,
    )


def seal(home: Home, run: Run, *, scale: float = 1.0) -> Bundle:
    """A bundle in the store, its derived folder, and the rows of both."""
    execution = uuid7()
    staged = home.root / "staged" / str(execution)
    concurrency = int(run.variables["load.concurrency"])
    write = partial(simulated_bundle.write, concurrency=concurrency, repetition=run.repetition)
    digest = kept.written(staged, ("bundle", concurrency, run.repetition), write)
    stored = home.bundle(digest)
    stored.parent.mkdir(parents=True, exist_ok=True)
    staged.rename(stored)
    bundle = Bundle.objects.create(
        digest=digest,
        run=run,
        execution_id=execution,
        state="sealed",
        spec_digest=simulated_bundle.SPEC_DIGEST,
        plan_digest=simulated_bundle.PLAN_DIGEST,
        bytes=sum(p.stat().st_size for p in stored.rglob("*") if p.is_file()),
        files=9,
        level="E2",
        identity_complete=False,
        sealed_at=BEGAN + timedelta(seconds=90),
    )
    Run.objects.filter(pk=run.pk).update(accepted_execution=execution)
    run.refresh_from_db()
    version = simulated.DEFINITION_VERSION
    document = _interpretation(digest, scale, version)
    index_interpretation(bundle, document, digest="77" * 32)
    kept.written(
        home.derived / digest / version, (digest, version, scale), partial(_tables, document)
    )
    return bundle


@cache
def _interpretation(digest: str, scale: float, _version: str) -> dict[str, Any]:
    """Read by whoever gets it, changed by nobody."""
    return simulated.interpretation(digest, simulated.aggregates(scale))


def derive(home: Home, digest: str, document: dict[str, Any]) -> Path:
    folder = home.derived / digest / str(document["definition_version"])
    _tables(document, folder)
    return folder


def _tables(document: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True)
    written.write(folder, document)
    iterations().write_parquet(folder / ITERATIONS)


def grade(lab: Laboratory, found: GradeDocument) -> None:
    """Into the reading of the run whose every page has data."""
    path = next(lab.home.derived.glob(f"{lab.bundle.digest}/*/{INTERPRETATION}"))
    document = json.loads(path.read_bytes())
    path.write_text(json.dumps({**document, "grade": found}), encoding="utf-8")


def iterations(count: int = 640) -> pl.DataFrame:
    """One row an iteration, shaped like the load above it."""
    rows = []
    for i in range(count):
        ms = 120 + i * 27.0
        loaded = ms > 7200
        batch = 1 + (3 if loaded else 0) - (i % 17 == 0)
        rows.append(
            {
                "number": i,
                "start_ns": at(ms),
                "duration_ns": round((21 + 4 * batch) * 1e6),
                "batch": batch,
                "prefill_tokens": 64 if i % 17 == 0 else 0,
                "decode_tokens": batch - (i % 17 == 0),
                "waiting": (i % 5 == 0) + (i % 13 == 0) if loaded else 0,
                "kv_used_blocks": 6 * batch + i % 6,
                "kv_total_blocks": 1024,
            }
        )
    return pl.DataFrame(rows)


def go_on(home: Home, run: Run, *, done: int = 9) -> Execution:
    """An execution in mid-measure, with its progress file."""
    execution = uuid7()
    row = Execution(
        id=execution,
        run=run,
        token="t",
        worker="test",
        folder=str(home.executions / str(execution)),
        state="running",
    )
    (row.out / "bundle").mkdir(parents=True)
    event = {"event": "prepared", "t_ns": 1, "clock_domain": "c"}
    (row.out / "bundle" / "session.jsonl").write_text(json.dumps(event) + "\n", encoding="utf-8")
    now = datetime.now(UTC)
    lines = [
        {
            "t": (now - timedelta(seconds=2 * (done - i))).isoformat().replace("+00:00", "Z"),
            "phase": "measure",
            "done": i,
            "total": 28,
            "message": f"load-{i:04d}.A1 completed, 32 tokens",
        }
        for i in range(done + 1)
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (row.out / "progress.jsonl").write_text(text, encoding="utf-8")
    Run.objects.filter(pk=run.pk).update(progress=lines[-1], started_at=now - timedelta(seconds=38))
    row.save(force_insert=True)
    return row


def end(run_id: UUID, state: str = "sealed") -> None:
    Run.objects.filter(pk=run_id).update(state=state, ended_at=datetime.now(UTC))
