"""A quick look: one declared run against an endpoint, sealed, stored and read, without database or queue.

The runner is the same process as in any other run; only the ledger is not asked. What it sealed it also
reads, where that is soon done; else the interpreter does, in a process of its own as in any other run.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.analysis.definition import DEFINITION_VERSION
from assay.archive import store
from assay.archive.paths import PYTHON_PATH, Home
from assay.execution.answers import finding, last_document
from assay.execution.progress import ProgressReader, Show, ignore
from assay.execution.subprocesses import Ended, run_to_end
from assay.ledger.ids import uuid7
from experiments.checks.policy import Policy
from experiments.errors import Finding
from experiments.identity import spec_digest
from runners.protocol import exit_codes, layout
from runners.protocol.documents import Progress, RunContext, RunRequest

OUT_FOLDER = "out"
READING = "interpretation.json"
SHORT_READER = "assay.archive.short_reading"  # called by the runner, which has loaded what it needs


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """How a quick look ended. ``bundle`` null: nothing was sealed; ``reading`` null: it was not read."""

    run_id: str
    state: str
    reason: str
    exit_code: int
    findings: tuple[Finding, ...] = ()
    bundle: Path | None = None
    digest: str | None = None
    reading: Mapping[str, Any] | None = None


def look(
    spec: Mapping[str, Any],
    *,
    home: Home,
    policy: Policy,
    show: Show = ignore,
    should_stop: Callable[[], bool] = lambda: False,
) -> Looked:
    """Carry out the declaration and end with a stored bundle; a refusal leaves nothing behind."""
    run_id = str(uuid7())
    home.scratch.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="look-", dir=home.scratch))
    try:
        return _Look(spec, run_id, folder, home, policy, show, should_stop).run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Look:
    spec: Mapping[str, Any]
    run_id: str
    folder: Path
    home: Home
    policy: Policy
    show: Show
    should_stop: Callable[[], bool]

    def run(self) -> Looked:
        request = self.folder / "request.json"
        request.touch(mode=0o600)
        request.write_text(json.dumps(self._request()), encoding="utf-8")
        out = self.folder / OUT_FOLDER
        progress = ProgressReader(out / layout.PROGRESS)

        def follow() -> None:
            for line in progress.new_lines():
                self.show(line)

        ended = self._process(
            "perform",
            ("runners", "perform", str(request), str(out), *self._options()),
            should_stop=self.should_stop,
            on_tick=follow,
        )
        answer = last_document(ended.stdout)
        bundle = out / layout.BUNDLE_FOLDER
        if not (bundle / layout.MANIFEST_DIGEST).exists():
            return self._nothing_sealed(ended, answer)
        return self._read(bundle, answer)

    def _options(self) -> Iterator[str]:
        yield from ("--watch", str(os.getpid()))
        yield from ("--calibrations", str(self.home.calibrations))
        yield from ("--read-by", SHORT_READER, str(self.home.derived))

    def _request(self) -> RunRequest:
        return RunRequest(
            spec=dict(self.spec),
            spec_digest=spec_digest(self.spec),
            context=RunContext(
                run_id=self.run_id,
                execution_id=str(uuid7()),
                repetition=0,
                study=str(self.spec["study"]["name"]),
                token="",
                artifact_roots=list(self.policy.artifact_roots),
                secret_names=_secret_names(),
                endpoint_hosts=list(self.policy.url_hosts),
            ),
        )

    def _nothing_sealed(self, ended: Ended, answer: Mapping[str, Any]) -> Looked:
        found = tuple(finding(f) for f in answer.get("findings", []))
        reason = "; ".join(str(f) for f in found) or ended.log_tail
        is_refusal = ended.exit_code in (exit_codes.REFUSED, exit_codes.LACKING)
        state = "refused" if is_refusal else "aborted" if ended.interrupted else "failed"
        code = ended.exit_code if is_refusal else exit_codes.FAILED
        return Looked(
            run_id=self.run_id,
            state=state,
            reason=reason,
            exit_code=exit_codes.INTERRUPTED if ended.interrupted else code,
            findings=found,
        )

    def _read(self, bundle: Path, answer: Mapping[str, Any]) -> Looked:
        stored = store.put(self.home, bundle)
        path = self.home.derived / stored.digest / DEFINITION_VERSION / READING
        unread = "" if path.is_file() else self._interpret(stored.folder)
        reading = json.loads(path.read_bytes()) if path.is_file() else None
        return Looked(
            run_id=self.run_id,
            state=str(answer.get("state") or "failed"),
            reason="; ".join(filter(None, (str(answer.get("reason") or ""), unread))),
            exit_code=int(answer.get("exit_code") or (exit_codes.FAILED if unread else 0)),
            bundle=stored.folder,
            digest=stored.digest,
            reading=reading,
        )

    def _interpret(self, folder: Path) -> str:
        """Read what the runner left unread: a long run, or one that it could not read. Why it still is."""
        self.show(Progress(t="", phase="interpret", done=0, total=0, message="reading the bundle"))
        ended = self._process(
            "interpret", ("assay.archive.interpretation", str(folder), str(self.home.derived))
        )
        last = (ended.log_tail.splitlines() or ["no message"])[-1]
        return "" if ended.exit_code == 0 else f"the bundle was not read: {last}"

    def _process(
        self,
        name: str,
        arguments: Sequence[str],
        *,
        should_stop: Callable[[], bool] = lambda: False,
        on_tick: Callable[[], None] = lambda: None,
    ) -> Ended:
        return run_to_end(
            [sys.executable, "-P", "-m", *arguments],
            folder=self.folder,
            name=name,
            environment={**os.environ, "PYTHONPATH": PYTHON_PATH, "PYTHONUNBUFFERED": "1"},
            should_stop=should_stop,
            on_tick=on_tick,
        )


def _secret_names() -> list[str]:
    return [n for n in os.environ.get("ASSAY_SECRET_NAMES", "").split(",") if n]
