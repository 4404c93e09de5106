"""``python -m runners doctor``: which engines and artifacts of the ready studies are usable on this machine.

It looks only: an artifact is located, not hashed. Each check is ok, missing (a ready study needs it) or
optional (nothing here needs it), and says what to do.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from experiments.compose import choices, compose
from experiments.errors import Refusal
from experiments.plan import plan
from runners.adapters import adapter_for
from runners.catalogue import ENGINES
from runners.environments.pins import artifacts_folder
from runners.evidence.artifact_sources import locate
from runners.protocol.errors import Finding, RunnerError


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    name: str
    state: str  # ok | missing | optional
    seen: str
    remedy: str | None = None


def main(*, as_json: bool) -> int:
    """Print the checks; 3 if something is missing."""
    checks = list(all_checks())
    if as_json:
        sys.stdout.write(json.dumps({"checks": [asdict(c) for c in checks]}) + "\n")
    else:
        sys.stdout.writelines(f"{c.state:<9} {c.name}: {c.seen}\n" for c in checks)
    return 3 if any(c.state == "missing" for c in checks) else 0


def all_checks() -> Iterator[Check]:
    specs: dict[str, dict[str, Any]] = {}
    for study in choices()["study"]:
        try:
            specs[study] = plan([compose([f"study={study}"])])[0].document
        except Refusal as refusal:
            yield _check(f"study {study}", refusal.findings[0])
    engines = {str(s["engine"]["key"]): s for s in specs.values()}
    for key in ENGINES:
        yield _engine(key, engines.get(key))
    for artifact in {str(s["artifact"]["name"]): s["artifact"] for s in specs.values()}.values():
        yield _artifact(artifact)


def _engine(key: str, spec: dict[str, Any] | None) -> Check:
    name = f"engine {key}"
    try:
        adapter = adapter_for(key)
        problem = None if spec is None else adapter.environment_problem(spec)
    except RunnerError as error:
        return _check(name, error.finding, is_needed=spec is not None)
    if spec is None:
        return Check(name=name, state="ok", seen="loads; no ready study uses it")
    if problem is None:
        return Check(name=name, state="ok", seen=f"version {spec['engine']['version']}")
    seen, _, command = problem.partition(". Run: ")
    # An environment of its own is installed by who wants that engine; nothing else needs it.
    state = "missing" if spec["engine"]["environment"]["kind"] == "platform" else "optional"
    return Check(name=name, state=state, seen=seen, remedy=command or "see what it says")


def _artifact(artifact: dict[str, Any]) -> Check:
    name = f"artifact {artifact['name']}"
    try:
        found = locate(artifact["source"], str(artifact["revision"]), roots=(artifacts_folder(),))
    except RunnerError as error:
        return _check(name, error.finding, is_needed=artifact.get("parent") is None)
    absent = [f["path"] for f in artifact["files"] if not (found.base / f["path"]).is_file()]
    if absent:
        seen = f"not in {found.base}: {', '.join(absent)}"
        return Check(name=name, state="missing", seen=seen, remedy="install the artifact again")
    return Check(name=name, state="ok", seen=f"in {found.base}, hashed before each run")


def _check(name: str, finding: Finding, *, is_needed: bool = True) -> Check:
    state = "missing" if is_needed else "optional"
    return Check(name=name, state=state, seen=finding.seen, remedy=finding.remedy)
