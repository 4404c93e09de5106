"""A home with many runs for ``benchmarks/pages.py``: real services and models, a few really captured runs.

The captured runs (two large ones, four small ones) are driven against the exact mock, sealed, stored,
interpreted and indexed by the platform's own code. The others are studies of the shipped example declaration;
their readings repeat a large one's, each run at a scale of its own, copied inside the database.
"""

import os
import random
import sys
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "platform"), str(HERE)]

from capture import Shape, capture  # noqa: E402 - the checkout's own roots come first on the path

if TYPE_CHECKING:
    from assay.ledger.models import Run
    from experiments.plan import RunSpec

STUDY = "smollm2_torch"
LARGE, SMALL = "large", "small"
SMALL_ATTEMPTS = 200
RUNS_A_STUDY = 4
CHUNK = 500
SEED = 20261130
ENDS = ("sealed",) * 17 + ("failed", "aborted", "lost")
ENGINES = (("torch", "2.13.0"), ("vllm", "0.33.0"), ("sglang", "0.5.23"))
DEVICES = ("cpu-2core", "H200-SXM", "L40S")
MODELS = ("SmolLM2-135M-Instruct Q4_1", "Qwen3-8B", "DeepSeek-V3.2 FP8", "Llama-3.1-8B")
TAGS = ("nightly", "smoke", "cpu", "release", "sweep")
GOING, QUEUED = 2, 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """Ids to ask for. ``study`` is one of those that repeat a reading."""

    large_runs: tuple[str, ...]
    small_runs: tuple[str, ...]
    study: str


def fill(home_folder: Path, *, runs: int, attempts: int, events: int) -> Filled:
    """Fill ``home_folder``; a home that was filled before is taken as it is."""
    os.environ["ASSAY_HOME"] = str(home_folder)
    os.environ["DJANGO_SETTINGS_MODULE"] = "assay.settings"
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    from assay.ledger.models import Run

    if not Run.objects.filter(study__name=LARGE).exists():
        _captured(LARGE, Shape(requests=attempts, events=events, concurrency=64), (64, 32))
    if not Run.objects.filter(study__name=SMALL).exists():
        _captured(SMALL, Shape(requests=SMALL_ATTEMPTS, events=events, concurrency=1), (1, 2, 4, 8))
    missing = runs - Run.objects.count()
    if missing > 0:
        _many_runs(missing)
    repeating = Run.objects.filter(state="sealed").exclude(study__name__in=(LARGE, SMALL))
    return Filled(
        large_runs=_of_study(LARGE),
        small_runs=_of_study(SMALL),
        study=str(repeating.order_by("-created_at")[0].study_id),
    )


def _of_study(name: str) -> tuple[str, ...]:
    from assay.ledger.models import Run

    runs = Run.objects.filter(study__name=name).order_by("position")
    return tuple(str(run.pk) for run in runs)


def _specs(concurrencies: Sequence[int]) -> "list[RunSpec]":
    from experiments.compose import compose
    from experiments.plan import plan

    def composed(concurrency: int) -> "RunSpec":
        [spec] = plan([compose([f"study={STUDY}", f"load.concurrency={concurrency}"])])[:1]
        return spec

    return [composed(concurrency) for concurrency in concurrencies]


def _captured(name: str, shape: Shape, concurrencies: Sequence[int]) -> None:
    """A study with one run a concurrency, each captured as any run is."""
    from assay.ledger.services import Declaration, PlannedRun, create_study

    planned = [
        PlannedRun(
            spec=dict(spec.document),
            spec_digest=spec.digest,
            position=position,
            repetition=0,
            variables={"load.concurrency": concurrency},
        )
        for position, (concurrency, spec) in enumerate(
            zip(concurrencies, _specs(concurrencies), strict=True)
        )
    ]
    title = f"{shape.requests} attempts a run"
    study = create_study(Declaration(name=name, title=title, owner="bench"), planned)
    runs = study.runs.order_by("position")
    for run, concurrency in zip(runs, concurrencies, strict=True):
        _capture(run, replace(shape, concurrency=concurrency))


def _capture(run: "Run", shape: Shape) -> None:
    """Captured, sealed, interpreted and indexed."""
    from django.conf import settings

    from assay.archive import store
    from assay.archive.paths import Home
    from assay.execution.interpreting import interpret
    from assay.ledger.ids import uuid7
    from assay.ledger.indexing import index_interpretation
    from assay.ledger.models import Bundle, Run

    home = Home(settings.HOME)
    began = datetime.now(UTC)
    with tempfile.TemporaryDirectory(prefix="pages-", dir=home.root) as scratch:
        captured = capture(Path(scratch) / "run", shape)
        print(f"captured {captured.events:,} events in {captured.load_s:.1f} s", flush=True)
        stored = store.put(home, captured.bundle)
        reading = interpret(
            home, home.bundle(stored.digest), digest=stored.digest, scratch=Path(scratch)
        )
    if reading.document is None:
        sys.exit(reading.problem)
    print(f"interpreted in {(datetime.now(UTC) - began).total_seconds():.1f} s in all", flush=True)
    execution = uuid7()
    bundle = Bundle.objects.create(
        digest=stored.digest,
        run=run,
        execution_id=execution,
        state="sealed",
        spec_digest=run.spec_digest,
        bytes=stored.bytes,
        files=stored.files,
        level="E1",
        identity_complete=False,
        sealed_at=datetime.now(UTC),
    )
    index_interpretation(bundle, reading.document, digest=reading.digest)
    Run.objects.filter(pk=run.pk).update(
        state="sealed",
        accepted_execution=execution,
        started_at=began,
        ended_at=datetime.now(UTC),
    )


def _many_runs(count: int) -> None:
    from django.db.models import F

    from assay.ledger.models import Bundle, Interpretation, Run, Study

    rng = random.Random(SEED + count)
    template = Interpretation.objects.get(bundle__run__study__name=LARGE, bundle__run__position=0)
    runs = _runs(count, rng)
    Study.objects.bulk_create(dict.fromkeys(run.study for run in runs), batch_size=CHUNK)
    Run.objects.bulk_create(runs, batch_size=CHUNK)
    # The model stamps a run with now; these were submitted a minute before they began.
    begun = Run.objects.filter(started_at__isnull=False).exclude(study__name__in=(LARGE, SMALL))
    begun.update(created_at=F("started_at") - timedelta(minutes=1))
    held = Interpretation.objects.latest("pk").pk
    bundles = [_bundle(run, rng) for run in runs if run.ended_at is not None]
    Bundle.objects.bulk_create(bundles, batch_size=CHUNK)
    version, digest = template.definition_version, template.digest
    Interpretation.objects.bulk_create(
        [Interpretation(bundle=b, definition_version=version, digest=digest) for b in bundles],
        batch_size=CHUNK,
    )
    _copy_readings(template.pk, after=held)
    print(f"made {count:,} runs, {len(bundles):,} of them with a reading", flush=True)


def _runs(count: int, rng: random.Random):  # type: ignore[no-untyped-def]
    """Studies of a few runs each; the newest runs wait or go, the others ended."""
    from assay.ledger.ids import uuid7
    from assay.ledger.models import Run, Study

    [spec] = _specs([1])
    now = datetime.now(UTC)
    runs: list[Run] = []
    for number in range(count):
        if number % RUNS_A_STUDY == 0:
            study = Study(
                id=uuid7(),
                name=f"nightly_{rng.randint(0, 400)}",
                title="Filled for the page benchmark",
                question="How fast do the pages of a full installation come?",
                tags=rng.sample(TAGS, 2),
                owner=rng.choice(("ada", "grace", "edsger")),
            )
            engine, version = rng.choice(ENGINES)
            model, device = rng.choice(MODELS), rng.choice(DEVICES)
        run = Run(
            id=uuid7(),
            study=study,
            position=number % RUNS_A_STUDY,
            spec=dict(spec.document),
            spec_digest=spec.digest,
            variables={"load.concurrency": 2 ** (number % RUNS_A_STUDY)},
            artifact_name=model,
            engine_key=engine,
            engine_version=version,
            device_name=device,
        )
        _live(
            run, left=count - number, began=now - timedelta(minutes=20 * (count - number)), rng=rng
        )
        runs.append(run)
    return runs


def _live(run, *, left: int, began: datetime, rng: random.Random) -> None:  # type: ignore[no-untyped-def]
    """Where the run stands, by how many were submitted after it."""
    if left <= QUEUED:
        return
    run.started_at = began
    if left <= QUEUED + GOING:
        run.state = "running"
        run.progress = {"phase": "measure", "done": rng.randint(1, 90), "total": 100}
        return
    run.state = rng.choice(ENDS)
    run.ended_at = began + timedelta(seconds=rng.randint(30, 600))
    run.state_reason = "" if run.state == "sealed" else "made up for the benchmark"
    run.accepted_execution = None if run.state == "lost" else _uuid(rng)


def _bundle(run, rng: random.Random):  # type: ignore[no-untyped-def]
    from assay.ledger.models import Bundle

    return Bundle(
        digest=f"{rng.getrandbits(256):064x}",
        run=run,
        execution_id=run.accepted_execution or _uuid(rng),
        state=run.state,
        spec_digest=run.spec_digest,
        bytes=rng.randint(10**5, 10**7),
        files=14,
        level=rng.choice(("E1", "E2")),
        identity_complete=rng.random() < 0.5,
        sealed_at=run.ended_at,
    )


def _uuid(rng: random.Random) -> uuid.UUID:
    return uuid.UUID(int=rng.getrandbits(128))


# What a reading consists of: table, and its columns with the ones that are scaled.
_COPIED = {
    "ledger_measure": (
        "rule, statistic, {value}, kind, unit, {low}, {high}, interval_kind, n, of, population, "
        "perspective, limited_by, absent"
    ),
    "ledger_ledgercount": "ledger, state, count",
    "ledger_gapentry": "what, affects, needed, state",
    "ledger_residual": (
        "quantity, conditions, predicted, {low}, {high}, bound, {measured}, unit, layer, relative, "
        "klass, validity, reason"
    ),
}


def _copy_readings(template: int, *, after: int) -> None:
    """What the template says, for every reading behind ``after``."""
    from django.db import connection

    quote = connection.ops.quote_name
    scale = "(0.5 + (i.id * 7919 % 1000) / 1000.0)"
    with connection.cursor() as cursor:
        for table, columns in _COPIED.items():
            plain = [c.strip().strip("{}") for c in columns.split(",")]
            scaled = [c.strip() for c in columns.split(",")]
            into = ", ".join(quote(c) for c in plain)
            of = ", ".join(
                f"t.{quote(c.strip('{}'))} * {scale}" if c.startswith("{") else f"t.{quote(c)}"
                for c in scaled
            )
            cursor.execute(
                f"INSERT INTO {table} (interpretation_id, {into}) "
                f"SELECT i.id, {of} FROM ledger_interpretation i CROSS JOIN {table} t "
                "WHERE t.interpretation_id = %s AND i.id > %s",
                [template, after],
            )
        cursor.execute(
            "INSERT INTO ledger_shownmeasure (run_id, interpretation_id, rule, statistic, value) "
            f"SELECT b.run_id, i.id, t.rule, t.statistic, t.value * {scale} "
            "FROM ledger_interpretation i JOIN ledger_bundle b ON b.digest = i.bundle_id "
            "CROSS JOIN ledger_shownmeasure t WHERE t.interpretation_id = %s AND i.id > %s",
            [template, after],
        )
