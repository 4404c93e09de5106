"""``python -m runners prepare REQUEST OUT``: everything that can be refused, before anything is launched.

In this order: the declaration and its digest, the engine's environment and port, the artifact's pins against
the bytes on disk, the plan with exact token counts, the disk, the switches that the pinned version changed.
Only then OUT appears, whole, by one rename; on refusal nothing is left. Exit codes: 0 prepared, 2 refused,
3 the machine lacks something.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import experiments
from experiments.checks.policy import LOOPBACK, Policy
from experiments.errors import Refusal
from experiments.identity import canonical as canonical_spec
from experiments.identity import spec_digest
from experiments.migrations import migrate
from experiments.plan import check
from runners import version_notes
from runners.adapters import adapter_for
from runners.artifacts import tokenizer_file
from runners.artifacts.chat_template import TemplateProblem
from runners.engines.base import Elsewhere, EngineAdapter, LaunchContext
from runners.evidence.artifact import VerifiedArtifact, verify
from runners.evidence.capture_size import estimate
from runners.evidence.environment_checks import check_disk, free_port
from runners.load.file_prompts import open_file
from runners.load.materialise import Materialised, materialise, write
from runners.load.place import Place, place_of
from runners.load.trace_replay import open_trace
from runners.load.uncounted import WordEncoder, without_counts
from runners.protocol import layout
from runners.protocol.documents import IDENTITY_ITEMS, IdentityDocument, RunContext
from runners.protocol.errors import EnvironmentLacks, Finding, Refused, RunnerError
from runners.protocol.manifest import canonical

REQUEST_KEYS = ("spec", "spec_digest", "context")
SAMPLES = Path(experiments.__file__).parent / "samples" / "prompts"  # shipped prompt files


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a run will be made of, before OUT exists."""

    spec: Mapping[str, Any]
    context: RunContext
    artifact: VerifiedArtifact | None  # null: whatever the endpoint serves
    plan: Materialised
    estimated_bytes: int
    notes: version_notes.VersionNotes

    def report(self) -> dict[str, Any]:
        """The line on stdout."""
        return {
            "ok": True,
            "spec_digest": self.context["spec_digest"],
            "plan_digest": self.context["plan_digest"],
            "artifact": self.artifact.identity if self.artifact else None,
            "plan": self.plan.summary,
            "estimated_bytes": self.estimated_bytes,
            "warnings": [asdict(warning) for warning in self.notes.warnings],
        }


def main(request_path: Path, out: Path) -> int:
    """Prepare, print one JSON line, return the exit code."""
    try:
        answer, code = prepare(request_path, out).report(), 0
    except RunnerError as error:
        findings = [asdict(f) for f in error.findings]
        answer, code = {"ok": False, "findings": findings}, error.exit_code
    sys.stdout.write(json.dumps(answer, ensure_ascii=False, allow_nan=False) + "\n")
    sys.stdout.flush()
    return code


def prepare(request_path: Path, out: Path) -> Prepared:
    """Check everything and make OUT. Raises Refused or EnvironmentLacks; OUT then does not exist."""
    try:
        prepared = check_all(_request(request_path), out)
    except Refusal as refusal:
        raise Refused(*refusal.findings) from refusal
    except TemplateProblem as problem:
        raise Refused(
            Finding(
                field="artifact.chat_template",
                seen=str(problem),
                allowed="a template that renders one user message, without the clock",
                remedy="Use the completions endpoint, or another artifact.",
            )
        ) from problem
    _publish(prepared, out)
    return prepared


def check_all(request: Mapping[str, Any], out: Path) -> Prepared:
    """Every check in order, effects none. Raises Refusal, Refused, EnvironmentLacks or TemplateProblem."""
    if out.exists():
        raise _refused("OUT", str(out), "a path that does not exist", "Name a new folder.")
    spec = dict(migrate(request["spec"]))
    context: RunContext = request["context"]
    roots = [Path(p) for p in context["artifact_roots"]]
    policy = Policy(
        artifact_roots=tuple(str(r) for r in roots),
        url_hosts=tuple(dict.fromkeys((*LOOPBACK, *context.get("endpoint_hosts", ())))),
    )
    digest = _checked_digest(spec, str(request["spec_digest"]), policy)
    adapter = adapter_for(str(spec["engine"]["key"]))
    _check_environment(adapter, spec)
    port = free_port(context.get("port") or spec["engine"]["port"])
    unseen = spec["artifact"]["source"]["kind"] == "endpoint"
    artifact = None if unseen else verify(spec["artifact"], roots=roots)
    plan = _planned(spec, artifact, roots, place_of(context))
    estimated = estimate(spec, plan.summary)
    check_disk(out, needed_bytes=estimated)
    told: RunContext = context.copy()
    told["port"] = port
    key_variable = spec["engine"]["settings"].get("authorization_env")
    if key_variable is not None:  # its value reaches no file, whoever declared the secrets
        told["secret_names"] = list(dict.fromkeys([*told["secret_names"], key_variable]))
    files = artifact.files if artifact else {}
    told["artifact_files"] = {name: str(path) for name, path in files.items()}
    told["spec_digest"] = digest
    told["plan_digest"] = plan.digest
    notes = version_notes.read(spec, _rehearsed(adapter, spec, told))
    if notes.refusals:
        raise Refused(*notes.refusals)
    return Prepared(
        spec=spec,
        context=told,
        artifact=artifact,
        plan=plan,
        estimated_bytes=estimated,
        notes=notes,
    )


def _check_environment(adapter: EngineAdapter, spec: Mapping[str, Any]) -> None:
    """Raises EnvironmentLacks, or Refused with what version records know of a refused flag."""
    key, version = str(spec["engine"]["key"]), spec["engine"]["version"]
    try:
        problem = adapter.environment_problem(spec)
    except Refused as refused:
        raise Refused(*version_notes.explained(key, version, refused.findings)) from refused
    if problem is not None:
        raise EnvironmentLacks(
            Finding(
                field="engine.environment",
                seen=problem,
                allowed=f"{key} {version}, ready to start",
                remedy="Run it, then run again.",
            )
        )


def _rehearsed(
    adapter: EngineAdapter, spec: Mapping[str, Any], context: RunContext
) -> version_notes.Invocation:
    """The command as it will be launched, made in a folder that is thrown away."""
    with tempfile.TemporaryDirectory(prefix="assay-launch-") as temporary:
        scratch = Path(temporary)
        plan = adapter.launch(
            LaunchContext(
                spec=spec,
                artifact_files={n: Path(p) for n, p in context["artifact_files"].items()},
                bundle=scratch,
                scratch=scratch,
                port=context["port"],
                execution_id=context["execution_id"],
                roots=tuple(Path(root) for root in context["artifact_roots"]),
            )
        )
    if isinstance(plan, Elsewhere):  # nobody here knows with which switches it was started
        return version_notes.Invocation(command=(), environment={})
    return version_notes.Invocation(command=plan.command, environment=plan.environment)


def _planned(
    spec: Mapping[str, Any],
    artifact: VerifiedArtifact | None,
    roots: Sequence[Path],
    place: Place,
) -> Materialised:
    """The plan, counted by the artifact's own tokenizer; without one it claims no counts."""
    rows = open_trace(spec["load"], roots=roots)
    entries = open_file(spec["workload"], roots=(*roots, SAMPLES))
    if artifact is None:
        counted = materialise(
            spec,
            WordEncoder(),
            tokenizer_sha256="",
            chat_template_sha256="",
            trace_rows=rows,
            entries=entries,
            place=place,
        )
        return without_counts(counted)
    return materialise(
        spec,
        artifact.encoder,
        tokenizer_sha256=artifact.identity["tokenizer"]["sha256"],
        chat_template_sha256=artifact.identity["chat_template"]["sha256"],
        trace_rows=rows,
        entries=entries,
        place=place,
    )


def _request(path: Path) -> dict[str, Any]:
    try:
        request = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise _refused(
            "REQUEST", f"{path}: {error}", "a run request as JSON", "Give the file."
        ) from error
    if not isinstance(request, dict) or not all(k in request for k in REQUEST_KEYS):
        seen = ", ".join(request) if isinstance(request, dict) else type(request).__name__
        raise _refused("REQUEST", seen, ", ".join(REQUEST_KEYS), "Give all of them.")
    return request


def _checked_digest(spec: Mapping[str, Any], stated: str, policy: Policy) -> str:
    """The spec's digest. A spec that was changed after it was planned, or no longer holds, is refused."""
    try:
        findings = check(spec, policy=policy)
    except (KeyError, TypeError, AttributeError) as error:
        raise _refused(
            "spec", f"{type(error).__name__}: {error}", "a whole run spec", "Plan the study again."
        ) from error
    if findings:
        raise Refused(*findings)
    digest = spec_digest(spec)
    if digest != stated:
        raise _refused(
            "spec_digest",
            f"{stated} is stated",
            f"{digest}, which the spec has",
            "The spec was changed after it was planned; plan the study again.",
        )
    return digest


def _publish(prepared: Prepared, out: Path) -> None:
    """Write everything beside OUT and rename it into place."""
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        bundle = partial / layout.BUNDLE_FOLDER
        bundle.mkdir()
        (bundle / layout.SPEC).write_bytes(canonical_spec(prepared.spec))
        write(prepared.plan, bundle)
        if prepared.artifact is not None:
            tokenizer = prepared.artifact.encoder.tokenizer
            (bundle / layout.TOKENIZER).write_bytes(tokenizer_file.packed(tokenizer))
        identity = IdentityDocument(
            artifact=prepared.artifact.identity if prepared.artifact else None,
            run=[],
            complete=False,
            missing=[*(() if prepared.artifact else ("artifact",)), *IDENTITY_ITEMS],
        )
        (bundle / layout.IDENTITY).write_bytes(canonical(identity))
        (bundle / layout.VERSION_NOTES).write_bytes(canonical(prepared.notes.document))
        context = partial / layout.CONTEXT
        context.touch(mode=0o600)  # it holds the fencing token
        context.write_bytes(canonical(prepared.context))
        partial.rename(out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _refused(field: str, seen: str, allowed: str, remedy: str) -> Refused:
    return Refused(Finding(field=field, seen=seen, allowed=allowed, remedy=remedy))
