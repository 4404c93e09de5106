"""The command that wraps an engine's launch: what it is given, and nothing besides."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from runners.environments.images import InstalledImage, pin_of
from runners.evidence import amd_smi, containers
from runners.evidence.containers import Placed

REFERENCE = "vllm/vllm-openai@sha256:" + "ab" * 32
CONTEXT: Any = {"run_id": "R1", "execution_id": "X1", "token": "secret-token"}


def placed(folder: Path, **changes: Any) -> Placed:
    image = InstalledImage(
        folder=folder, pin=pin_of("vllm", "0.33.0", "sha256:" + "ab" * 32), reference=REFERENCE,
        identifier="sha256:1d", architecture="amd64", build=None, python="3.12.1", packages={},
        installed_at="", is_pulled=False,
    )  # fmt: skip
    whole = Placed(
        image=image, name="assay-X1", labels=containers.labels(CONTEXT), root=Path("/assay"),
        readable=[Path("/models/a,b"), Path("/models/a,b")], writable=[Path("/out/bundle"), folder],
        directory=folder, cores=[0, 3], device={"kind": "cpu", "count": 1}, image_root="read_only",
        secret_names=["KEY", "UNSET"],
    )  # fmt: skip
    return replace(whole, **changes)


def command(folder: Path, **changes: Any) -> list[str]:
    return containers.wrapped(
        "/usr/bin/docker",
        ["python3", "-m", "engine", "--port", "8000"],
        {"TZ": "UTC", "PYTHONPATH": "/stand_ins"},
        placed(folder, **changes),
    )


def after(words: list[str], flag: str) -> list[str]:
    return [value for name, value in pairwise(words) if name == flag]


def test_an_engine_gets_its_files_its_cores_and_its_own_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "hunter2")
    monkeypatch.setenv("HTTP_PROXY", "http://elsewhere")

    words = command(tmp_path)

    assert words[-5:] == [REFERENCE, "-m", "engine", "--port", "8000"]
    assert after(words, "--entrypoint") == ["python3"]
    assert after(words, "--mount") == [
        'type=bind,"source=/assay/runners","target=/assay/runners",readonly',
        'type=bind,"source=/assay/experiments","target=/assay/experiments",readonly',
        'type=bind,"source=/models/a,b","target=/models/a,b",readonly',
        'type=bind,"source=/out/bundle","target=/out/bundle"',
        f'type=bind,"source={tmp_path}","target={tmp_path}"',
    ]
    assert after(words, "--cpuset-cpus") == ["0,3"]
    assert after(words, "--pull") == ["never"]
    assert "--read-only" in words
    environment = after(words, "--env")
    assert {"TZ=UTC", "PYTHONPATH=/assay:/stand_ins", "ASSAY_EXECUTION=X1", "KEY"} <= {*environment}
    assert not any("hunter2" in word or "PROXY" in word or "UNSET" in word for word in words)


def test_labels_say_whose_it_is_and_not_the_token(tmp_path: Path) -> None:
    labels = after(command(tmp_path), "--label")

    assert labels[:2] == ["assay.run=R1", "assay.execution=X1"]
    assert labels[2].startswith("assay.fence=")
    assert "secret-token" not in str(labels)


@pytest.mark.parametrize(
    ("device", "visible", "flags"),
    [
        ({"kind": "cpu", "count": 1}, None, []),
        ({"kind": "cuda", "count": 2}, None, ["--gpus", "2"]),
        ({"kind": "cuda", "count": 2}, "1,3", ["--gpus", '"device=1,3"']),
    ],
)
def test_devices_are_those_that_are_declared(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    device: Any,
    visible: str | None,
    flags: list[str],
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)

    words = command(tmp_path, device=device)

    found = [w for w in pairwise(words) if w[0] in ("--gpus", "--device")]
    assert [word for pair in found for word in pair] == flags


def test_amd_devices_are_given_by_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(amd_smi, "DRIVER", tmp_path)

    words = command(tmp_path, device={"kind": "cuda", "count": 1})

    assert after(words, "--device") == ["/dev/kfd", "/dev/dri"]
    assert "--gpus" not in words


def test_a_root_that_must_be_writable_is_asked_for(tmp_path: Path) -> None:
    assert "--read-only" not in command(tmp_path, image_root="writable")
