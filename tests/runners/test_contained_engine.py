"""The real torch engine from an image: installed by digest, launched through docker, proved, sealed."""

import json
import sys
from pathlib import Path

import pytest

from runners.environments import docker, image_installing
from runners.protocol import layout
from runners.protocol.documents import IDENTITY_ITEMS
from tests.docker_stand_in import stand_in
from tests.runners.prepared import session_rows
from tests.runners.real_runs import execute, prepare

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(600)]
DIGEST = "sha256:" + "ab" * 32
REFERENCE = f"team/torch@{DIGEST}"


@pytest.mark.req("7.14")
def test_a_smoke_run_from_an_image_is_sealed_complete_and_leaves_no_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    image = stand_in.image(REFERENCE, {"python3": sys.executable}, here=False)
    with stand_in.docker(tmp_path / "docker", {REFERENCE: image}, monkeypatch) as stand:
        noted = image_installing.install("torch==2.13.0", REFERENCE, tell=lambda words: None)
        out = prepare(
            tmp_path, "engine.environment.kind=container", f"engine.environment.image='{REFERENCE}'"
        )
        output, _ = execute(out).communicate(timeout=500)
        context = json.loads((out / layout.CONTEXT).read_bytes())
        left = docker.of_execution(str(stand.command), context["execution_id"])

    told = json.loads(output)
    assert told["state"] == "sealed", told
    assert left == []
    (seen,) = session_rows(out, "container")
    assert (seen["repo_digests"], seen["image_id"]) == ([REFERENCE], noted.identifier)
    assert session_rows(out, "identified")[0]["version"] == "2.13.0"
    identity = json.loads((out / "bundle" / layout.IDENTITY).read_bytes())
    assert [item["item"] for item in identity["run"]] == list(IDENTITY_ITEMS)
    assert identity["complete"] is True, identity["missing"]
    listed = json.loads((out / "bundle" / layout.PACKAGES).read_bytes())["environments"][1]
    assert listed["packages"]["torch"].startswith("2.13.0")
    checks = {row["check"]: row["state"] for row in session_rows(out, "release_check")}
    assert (checks["processes"], checks["kv_blocks"]) == ("released", "released")
    assert (out / "bundle" / layout.TRACE_FOLDER).is_dir()
