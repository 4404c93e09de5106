"""The first step of a run: its pins against the bytes on disk, its environment, its materialised plan."""

import contextlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from assay.archive.paths import Home
from assay.execution import launcher
from assay.execution.answers import finding, last_document
from assay.execution.models import OUT_FOLDER
from experiments.errors import Finding
from runners.protocol.documents import RunContext, RunRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What the runner said: a plan, or findings. ``exit_code`` 0, 2 or 3; anything else is a failure."""

    exit_code: int
    findings: tuple[Finding, ...]
    plan_digest: str
    plan: Mapping[str, Any]
    estimated_bytes: int
    interrupted: bool
    log_tail: str
    warnings: tuple[Finding, ...] = ()  # switches in use that the pinned version changed


def context(
    *,
    run_id: str,
    execution_id: str,
    repetition: int,
    position: int,
    runs: int,
    study: str,
    token: str,
) -> RunContext:
    return RunContext(
        run_id=run_id,
        execution_id=execution_id,
        repetition=repetition,
        position=position,
        runs=runs,
        study=study,
        token=token,
        artifact_roots=[str(p) for p in settings.ARTIFACT_ROOTS],
        secret_names=list(settings.SECRET_NAMES),
        endpoint_hosts=list(settings.ENDPOINT_HOSTS),
    )


def prepare(
    request: RunRequest,
    *,
    folder: Path,
    out: Path,
    should_stop: Callable[[], bool] = lambda: False,
    on_tick: Callable[[], None] = lambda: None,
) -> Prepared:
    """Run ``python -m runners prepare``; ``out`` exists afterwards only if it succeeded."""
    path = folder / "request.json"
    path.touch(mode=0o600)  # it holds the token
    path.write_text(json.dumps(request), encoding="utf-8")
    ended = launcher.run_to_end(
        launcher.runner("prepare", path, out),
        folder=folder,
        name="prepare",
        should_stop=should_stop,
        on_tick=on_tick,
        grace_s=5.0,  # nothing to seal yet
    )
    answer = last_document(ended.stdout)
    return Prepared(
        exit_code=ended.exit_code,
        findings=tuple(finding(f) for f in answer.get("findings", [])),
        plan_digest=str(answer.get("plan_digest", "")),
        plan=answer.get("plan") or {},
        estimated_bytes=int(answer.get("estimated_bytes") or 0),
        interrupted=ended.interrupted,
        log_tail=ended.log_tail,
        warnings=tuple(finding(w) for w in answer.get("warnings", [])),
    )


def check(
    specs: Sequence[tuple[Mapping[str, Any], str]],
    *,
    home: Home,
    should_stop: Callable[[], bool] = lambda: False,
) -> Prepared | None:
    """Prepare each (spec, digest) and keep nothing: the first refusal, or None if all could start here.

    A declaration whose pins do not hold, or whose environment is missing, is refused before a row of it is
    written. The pins are verified once more when the run really starts.
    """
    for digest, spec in {d: s for s, d in specs}.items():
        prepared = rehearse(spec, digest, runs=len(specs), home=home, should_stop=should_stop)
        if prepared.exit_code != 0:
            return prepared
    return None


def rehearse(
    spec: Mapping[str, Any],
    digest: str,
    *,
    runs: int,
    home: Home,
    should_stop: Callable[[], bool] = lambda: False,
) -> Prepared:
    """Prepare one declaration and keep nothing of it."""
    home.scratch.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="check-", dir=home.scratch))
    try:
        told = context(
            run_id="",
            execution_id="",
            repetition=0,
            position=0,
            runs=runs,
            study="",
            token="",
        )
        request = RunRequest(spec=dict(spec), spec_digest=digest, context=told)
        return prepare(request, folder=folder, out=folder / OUT_FOLDER, should_stop=should_stop)
    finally:
        shutil.rmtree(folder)
        with contextlib.suppress(OSError):  # a refusal leaves no trace, not even an empty home
            home.scratch.rmdir()
            home.root.rmdir()
