"""What every engine of the catalogue must keep, whatever it is made of."""

import importlib
import inspect
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from runners.catalogue import ENGINES
from runners.engines.base import (
    Elsewhere,
    EngineAdapter,
    EvidenceContext,
    LaunchContext,
    LaunchPlan,
)
from runners.environments import images, records
from runners.environments.pins import engines_folder
from runners.protocol.documents import IDENTITY_ITEMS
from runners.protocol.events import EvidenceStrength
from tests.runners.engines.openai_endpoint import declared
from tests.runners.engines.replay import declared as replayed
from tests.runners.engines.sglang import declared as sglang
from tests.runners.engines.tensorrt_llm import declared as tensorrt_llm
from tests.runners.engines.torch.launched import spec
from tests.runners.engines.vllm import declared as vllm

HEAVY = ("torch", "transformers", "vllm", "sglang", "tensorrt_llm")
# One declaration for each engine, of its own groups; a new engine adds its line.
SPECS: Mapping[str, Any] = {
    "openai_endpoint": declared.spec,
    "replay": replayed.spec,
    "sglang": sglang.spec,
    "tensorrt_llm": tensorrt_llm.spec,
    "torch": spec,
    "vllm": vllm.spec,
}
ELSEWHERE = ("openai_endpoint",)  # reached, never launched
every_engine = pytest.mark.parametrize("key", sorted(ENGINES))
every_launched_engine = pytest.mark.parametrize("key", sorted(set(ENGINES) - set(ELSEWHERE)))


@pytest.fixture(autouse=True)
def _environments(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Engines with an environment of their own find it installed."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("ASSAY_HOME", str(home))
    for engine in (sglang, tensorrt_llm, vllm):
        engine.install(home)


def adapter_of(key: str) -> EngineAdapter:
    module, _, attribute = ENGINES[key].adapter.partition(":")
    adapter: EngineAdapter = getattr(importlib.import_module(module), attribute)
    return adapter


def evidence(key: str, bundle: Path) -> EvidenceContext:
    return EvidenceContext(
        spec=SPECS[key](),
        bundle=bundle,
        base_url="http://127.0.0.1:1",
        server_info=None,
        version=None,
    )


def test_every_engine_has_a_declaration_to_be_tested_with() -> None:
    assert set(SPECS) == set(ENGINES)


@every_engine
def test_the_adapter_has_every_method_of_the_protocol_with_its_parameters(key: str) -> None:
    adapter = adapter_of(key)

    for name, wanted in inspect.getmembers(EngineAdapter, inspect.isfunction):
        if name.startswith("_"):
            continue
        own = inspect.signature(getattr(adapter, name))
        parameters = list(inspect.signature(wanted).parameters)[1:]
        assert list(own.parameters) == parameters, name


@every_engine
def test_the_adapters_key_is_its_name_in_the_catalogue(key: str) -> None:
    assert adapter_of(key).key == key
    assert ENGINES[key].label


@every_engine
def test_an_adapter_loads_no_engine_code(key: str) -> None:
    module = ENGINES[key].adapter.partition(":")[0]
    code = f"import {module}, sys; print([m for m in {HEAVY!r} if m in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


@every_engine
def test_paths_are_paths(key: str) -> None:
    adapter = adapter_of(key)
    optional = (adapter.info_path(), adapter.metrics_path())

    paths = [adapter.health_path(), adapter.version_path(), *(p for p in optional if p is not None)]

    assert all(path.startswith("/") for path in paths)
    assert len(set(paths)) == len(paths)


@every_engine
def test_a_profile_that_can_be_started_can_be_stopped(key: str) -> None:
    adapter = adapter_of(key)
    start, stop = adapter.profile_start(), adapter.profile_stop()

    assert (start is None) == (stop is None)
    for call in (start, stop):
        if call is not None:
            method, path, body = call
            assert method in ("GET", "POST")
            assert path.startswith("/")
            assert isinstance(body, Mapping)


def launch(
    key: str, folder: Path, changed: Mapping[str, Any] | None = None
) -> LaunchPlan | Elsewhere:
    document = changed or SPECS[key]()
    files = {entry["path"]: folder / entry["path"] for entry in document["artifact"]["files"]}
    return adapter_of(key).launch(
        LaunchContext(
            spec=document,
            artifact_files=files,
            bundle=folder / "bundle",
            scratch=folder,
            port=8999,
            execution_id="execution-1",
            roots=(Path("/recorded"),),
        )
    )


@pytest.mark.parametrize("key", ELSEWHERE)
def test_an_engine_elsewhere_is_a_url_and_starts_nothing(key: str, tmp_path: Path) -> None:
    plan = launch(key, tmp_path)

    assert plan == Elsewhere(base_url="http://127.0.0.1:8999", authorization_env=None)
    assert list(tmp_path.iterdir()) == []


@every_launched_engine
def test_a_launch_is_a_list_of_arguments_with_absolute_files(key: str, tmp_path: Path) -> None:
    plan = launch(key, tmp_path)

    assert isinstance(plan, LaunchPlan)
    assert not isinstance(plan.command, str)
    assert all(isinstance(part, str) and part for part in plan.command)
    assert plan.base_url.endswith(":8999")
    assert all(isinstance(v, str) for v in plan.environment.values())
    assert plan.events_file is None or plan.events_file.is_absolute()
    # stamps without a domain cannot be compared with anything
    assert plan.events_file is None or plan.clock_domain is not None


@pytest.mark.req("7.14")
@pytest.mark.parametrize("key", ["sglang", "tensorrt_llm", "torch", "vllm"])
def test_in_an_image_the_same_command_is_started_by_the_images_own_programs(
    key: str, tmp_path: Path
) -> None:
    outside = launch(key, tmp_path)
    digest, document = "sha256:" + "ab" * 32, SPECS[key]()
    version = str(document["engine"]["version"])
    pin = images.pin_of(key, version, digest)
    folder = engines_folder() / pin.name
    folder.mkdir(parents=True)
    known = [e.parser for e in records.installed() if e.pin.key == key]
    dump: dict[str, Any] = {"version": version, "build": None, "flags": []}
    (folder / records.PARSER).write_text(known[0].read_text() if known else json.dumps(dump))
    noted = images.InstalledImage(
        folder=folder, pin=pin, reference=f"team/{key}@{digest}", identifier="sha256:1d",
        architecture="amd64", build=None, python="3.12", packages={}, installed_at="", is_pulled=False,
    )  # fmt: skip
    images.write(noted, folder)
    pinned = {"kind": "container", "image": f"team/{key}", "image_digest": digest}
    document["engine"]["environment"] |= pinned

    inside = launch(key, tmp_path, document)

    assert isinstance(inside, LaunchPlan)
    assert isinstance(outside, LaunchPlan)
    assert inside.command[0] == {"tensorrt_llm": "trtllm-serve"}.get(key, "python3")
    assert inside.command[1:] == outside.command[1:]
    document["engine"]["environment"]["image_digest"] = "sha256:" + "0" * 64
    problem = str(adapter_of(key).environment_problem(document))
    assert f"assay engines install {key}=={version} --image team/{key}@sha256:000" in problem


@every_launched_engine
def test_another_version_than_the_declared_one_is_an_environment_problem(key: str) -> None:
    document = SPECS[key]()
    document["engine"]["version"] = "0.0.1"

    problem = adapter_of(key).environment_problem(document)

    assert problem is not None
    assert "0.0.1" in problem


@every_engine
@pytest.mark.req("7.14", "7.15")
@pytest.mark.forbids
def test_without_evidence_all_eight_items_are_unknown_with_a_reason(
    key: str, tmp_path: Path
) -> None:
    found = adapter_of(key).identity(evidence(key, tmp_path))

    assert [item["item"] for item in found] == list(IDENTITY_ITEMS)
    for item in found:
        assert item["ran"] is None
        assert item["strength"] == EvidenceStrength.none
        assert item["evidence"] == []
        assert item["reason"]
