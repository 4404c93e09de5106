"""An engine in a container: however its run ends, the container is gone, and the pinned image is what ran."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runners.environments import docker, images
from runners.environments.images import InstalledImage
from runners.environments.pins import engines_folder
from runners.evidence import processes
from runners.protocol import layout, manifest
from runners.protocol.workspace import json_lines
from tests.docker_stand_in import stand_in
from tests.docker_stand_in.stand_in import Docker
from tests.faults.test_runs_that_end_badly import is_driving, processes_of, until
from tests.runners import prepared
from tests.runners.prepared import gaps, session_rows

pytestmark = pytest.mark.fault
DIGEST = "sha256:" + "ab" * 32
REFERENCE = f"team/echo@{DIGEST}"
LONG = {"warmup": 1, "cases": 2, "load": 400, "profile": 1}
CONTAINED = {
    "environment": {
        "kind": "container", "image": "team/echo", "image_digest": DIGEST, "image_root": "read_only"
    }
}  # fmt: skip


@pytest.fixture
def stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Docker]:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    image = stand_in.image(REFERENCE, {sys.executable: sys.executable}, here=True)
    pin = images.pin_of("echo", "1.0", DIGEST)
    folder = engines_folder() / pin.name
    folder.mkdir(parents=True)
    noted = InstalledImage(
        folder=folder, pin=pin, reference=REFERENCE, identifier=stand_in.IDENTIFIER,
        architecture="amd64", build=None, python="3.11.7", packages={"echo": "1.0"},
        installed_at="", is_pulled=False,
    )  # fmt: skip
    images.write(noted, folder)
    with stand_in.docker(tmp_path / "docker", {REFERENCE: image}, monkeypatch) as running:
        yield running


def prepare(tmp_path: Path, **more: Any) -> Path:
    return prepared.prepare(tmp_path / "run", engine=CONTAINED, **more)


def mine(stand: Docker, out: Path) -> list[str]:
    """Containers of this execution that docker still has."""
    execution = json.loads((out / layout.CONTEXT).read_bytes())["execution_id"]
    return docker.of_execution(str(stand.command), execution)


def asked_of_docker(out: Path) -> list[str]:
    """Subcommands that the keeper gave to end the container."""
    rows = json_lines(out / "bundle" / layout.KEEPER)
    return [row["command"][0] for row in rows if row["event"] == "container"]


@pytest.mark.req("7.14")
def test_a_run_is_sealed_with_its_image_read_back_and_its_log_and_leaves_no_container(
    stand: Docker, tmp_path: Path
) -> None:
    out = prepare(tmp_path)

    code, told, errors = prepared.run("execute", out)

    assert (code, told["state"]) == (0, "sealed"), errors
    (seen,) = session_rows(out, "container")
    assert (seen["repo_digests"], seen["image_id"]) == ([REFERENCE], stand_in.IDENTIFIER)
    assert session_rows(out, "identified")[0]["version"] == "1.0"
    assert (out / "bundle" / layout.ENGINE_LOG).stat().st_size > 0
    listed = json.loads((out / "bundle" / layout.PACKAGES).read_bytes())["environments"][1]
    assert (listed["interpreter"], listed["packages"]) == (REFERENCE, {"echo": "1.0"})
    checks = {row["check"]: row["state"] for row in session_rows(out, "release_check")}
    assert (checks["processes"], checks["port"]) == ("released", "released")
    assert asked_of_docker(out) == ["stop"]  # it obeyed
    assert mine(stand, out) == []
    assert processes_of(out) == set()


@pytest.mark.forbids
def test_a_container_of_another_image_is_failed_by_digest_and_stopped(
    stand: Docker, tmp_path: Path
) -> None:
    path = stand.folder / "images.json"
    known = json.loads(path.read_text())
    other = stand_in.image(f"team/echo@sha256:{'0' * 64}", {}, here=True, Id="sha256:" + "2e" * 32)
    known[REFERENCE]["runs_as"] = "sha256:" + "2e" * 32
    path.write_text(json.dumps(known | {"other": other}))
    out = prepare(tmp_path)

    code, told, _ = prepared.run("execute", out)

    assert (code, told["state"]) == (1, "failed")
    assert f"bears team/echo@sha256:{'0' * 64}" in told["reason"]
    assert session_rows(out, "phase_start") == []
    assert mine(stand, out) == []


def test_an_image_that_went_away_ends_the_run_in_dockers_own_words(
    stand: Docker, tmp_path: Path
) -> None:
    out = prepare(tmp_path)
    (stand.folder / "images.json").write_text("{}")

    code, told, _ = prepared.run("execute", out)

    assert (code, told["state"]) == (1, "failed")
    assert "No such image" in told["reason"]


@pytest.mark.parametrize("killed", ["runner", "runner and keeper"])
def test_a_killed_worker_leaves_no_container(stand: Docker, tmp_path: Path, killed: str) -> None:
    out = prepare(tmp_path, segments=LONG)
    with prepared.start("execute", out) as runner:
        until(lambda: is_driving(out))
        (keeper,) = (
            r for r in json_lines(out / "keeper" / "keeper.jsonl") if r["event"] == "keeper"
        )
        assert len(mine(stand, out)) == 1
        if killed == "runner and keeper":
            os.kill(keeper["pid"], signal.SIGKILL)
        os.killpg(runner.pid, signal.SIGKILL)
        runner.wait()
    if killed == "runner":
        until(lambda: mine(stand, out) == [])
    else:
        assert len(mine(stand, out)) == 1  # docker's child, not ours: nobody took it along

    _, told, _ = prepared.run("reap", out)

    assert told["state"] == "lost"
    assert manifest.verify(out / "bundle").ok
    assert mine(stand, out) == []
    assert processes_of(out) == set()
    (reaped,) = session_rows(out, "reaped")
    found = reaped["swept"]["containers"]
    assert (len(found["found"]), found["left"]) == (int(killed != "runner"), [])


def test_a_container_that_does_not_obey_is_killed(stand: Docker, tmp_path: Path) -> None:
    out = prepare(tmp_path, settings={"faults": ["ignore_term"]})

    code, told, errors = prepared.run("execute", out)

    assert (code, told["state"]) == (0, "sealed"), (errors, gaps(out))
    assert asked_of_docker(out) == ["stop"]  # docker itself kills it when its time is over
    assert mine(stand, out) == []


def test_a_docker_that_stops_answering_is_unknown_and_not_released(
    stand: Docker, tmp_path: Path
) -> None:
    out = prepare(tmp_path, segments=LONG)
    with prepared.start("execute", out) as runner:
        until(lambda: is_driving(out))
        (stand.folder / "socket").unlink()  # new questions find nobody
        os.killpg(runner.pid, signal.SIGINT)
        runner.communicate(timeout=60)

    checks = {row["check"]: row["state"] for row in session_rows(out, "release_check")}
    assert checks["processes"] in ("unknown", "held")
    assert processes.identify(runner.pid) is None
