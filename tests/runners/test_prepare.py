"""Whatever can be refused is refused before anything is launched, and then nothing is left behind."""

import json
import resource
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from experiments.identity import spec_digest
from runners import prepare
from runners.adapters import adapter_for
from runners.evidence.artifact_sources import folder_revision
from runners.evidence.capture_size import estimate
from runners.protocol.documents import IDENTITY_ITEMS
from runners.protocol.errors import EnvironmentLacks, Refused
from runners.protocol.tables import PLAN
from tests.experiments.declarations import changed, example
from tests.runners.artifacts import tiny

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An allowed root with the tiny artifact in it."""
    root = tmp_path_factory.mktemp("models")
    (root / "tiny").mkdir()
    tiny.write(root / "tiny" / tiny.FILE)
    return root


@pytest.fixture
def spec(models: Path) -> dict[str, Any]:
    """A small run of the tiny artifact, as a spec that holds here."""
    document = example("workload=smollm2_smoke", "evidence=smoke", "load=closed")
    document["artifact"] = tiny.declare(document["artifact"], models / "tiny" / tiny.FILE)
    document["artifact"]["source"] |= {"kind": "folder", "path": str(models / "tiny")}
    document["artifact"]["revision"] = folder_revision(models / "tiny")
    return document


class Outcome(NamedTuple):
    code: int
    answer: dict[str, Any]
    out: Path

    @property
    def fields(self) -> list[str]:
        return [f["field"] for f in self.answer["findings"]]

    def left_behind(self) -> list[str]:
        return sorted(p.name for p in self.out.parent.iterdir())


class Prepare:
    """Runs ``prepare`` on a spec as ``python -m runners prepare`` does, in this process."""

    def __init__(self, folder: Path, models: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder, self._models, self._capsys = folder, models, capsys

    def __call__(self, document: dict[str, Any], **context: Any) -> Outcome:
        request = self._folder / "request.json"
        stated = context.pop("spec_digest", None)
        request.write_text(
            json.dumps(
                {
                    "spec": document,
                    "spec_digest": stated or spec_digest(document),
                    "context": {
                        "run_id": "R",
                        "execution_id": "E",
                        "repetition": 0,
                        "study": "test",
                        "token": "fence",
                        "artifact_roots": [str(self._models)],
                        "secret_names": [],
                        **context,
                    },
                }
            ),
            encoding="utf-8",
        )
        out = self._folder / "work" / "out"
        out.parent.mkdir(exist_ok=True)
        code = prepare.main(request, out)
        return Outcome(code, json.loads(self._capsys.readouterr().out), out)


@pytest.fixture
def run(tmp_path: Path, models: Path, capsys: pytest.CaptureFixture[str]) -> Prepare:
    return Prepare(tmp_path, models, capsys)


def test_a_prepared_run_holds_spec_plan_prompts_identity_and_context(
    run: Prepare, spec: dict[str, Any]
) -> None:
    outcome = run(spec)

    assert outcome.code == 0, outcome.answer
    bundle = outcome.out / "bundle"
    assert sorted(p.name for p in bundle.iterdir()) == [
        "identity.json",
        "plan.parquet",
        "prompts.parquet",
        "spec.json",
        "tokenizer.json.gz",
        "version_notes.json",
    ]
    assert spec_digest(json.loads((bundle / "spec.json").read_bytes())) == spec_digest(spec)
    identity = json.loads((bundle / "identity.json").read_bytes())
    assert identity["artifact"]["digest"] == outcome.answer["artifact"]["digest"]
    assert identity["complete"] is False
    assert identity["missing"] == list(IDENTITY_ITEMS)
    table = pq.read_table(bundle / "plan.parquet")
    assert table.schema.equals(PLAN)
    assert table.num_rows == sum(s["requests"] for s in outcome.answer["plan"].values())


def test_the_context_tells_the_session_port_files_and_digests(
    run: Prepare, spec: dict[str, Any], models: Path
) -> None:
    outcome = run(spec)

    path = outcome.out / "context.json"
    context = json.loads(path.read_bytes())
    assert context["token"] == "fence"
    assert context["artifact_files"] == {tiny.FILE: str(models / "tiny" / tiny.FILE)}
    assert 1024 <= context["port"] <= 65535
    assert context["spec_digest"] == spec_digest(spec)
    assert context["plan_digest"] == outcome.answer["plan_digest"]
    assert path.stat().st_mode & 0o077 == 0  # the token is nobody else's


@pytest.mark.req("7.21")
def test_what_is_known_of_the_versions_switches_lies_in_the_bundle_before_anything_is_launched(
    run: Prepare, spec: dict[str, Any]
) -> None:
    outcome = run(spec)

    notes = json.loads((outcome.out / "bundle" / "version_notes.json").read_bytes())
    assert (notes["engine"], notes["version"]) == ("torch", spec["engine"]["version"])
    assert [r["record"] for r in notes["records"]] == [f"torch {spec['engine']['version']}"]
    assert outcome.answer["warnings"] == []


@pytest.mark.req("1.14")
def test_the_contract_lies_in_the_bundle_before_anything_is_launched(
    run: Prepare, spec: dict[str, Any]
) -> None:
    stored = json.loads((run(spec).out / "bundle" / "spec.json").read_bytes())

    assert stored["contract"] == spec["contract"]
    assert {"deadline_s", "required_branches", "degradation", "retry_allowed", "success"} < set(
        stored["contract"]
    )


def test_preparing_twice_gives_the_same_plan(
    run: Prepare, spec: dict[str, Any], tmp_path: Path
) -> None:
    first = run(spec)
    shutil.rmtree(first.out)
    second = run(spec)

    assert first.answer["plan_digest"] == second.answer["plan_digest"]
    assert first.left_behind() == ["out"]


@pytest.mark.forbids
@pytest.mark.req("5.01", "5.02", "5.03", "5.05", "5.08")
@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("artifact.revision", "main", "artifact.revision"),
        ("artifact.revision", f"sha256:{'0' * 64}", "artifact.revision"),
        ("artifact.files.0.sha256", "0" * 64, "artifact.files.0.sha256"),
        ("artifact.config.h_kv", 4, "artifact.config.h_kv"),
        ("artifact.tokenizer.sha256", "0" * 64, "artifact.tokenizer.sha256"),
        ("artifact.chat_template.sha256", "0" * 64, "artifact.chat_template.sha256"),
        ("artifact.precision.weights.dtype", "4bit", "artifact.precision.weights.dtype"),
        ("artifact.source.path", "/etc", "artifact.source.path"),
        ("workload.input_tokens", 600, "workload"),
        ("workload.input_tokens", 3, "workload.input_tokens"),
        ("load.rate_per_s", -1.0, "load.rate_per_s"),
        ("engine.key", "abacus", "engine.key"),
    ],
)
def test_a_refused_run_exits_2_and_leaves_nothing(
    run: Prepare, spec: dict[str, Any], path: str, value: Any, field: str
) -> None:
    outcome = run(changed(spec, path, value))

    assert outcome.code == 2
    assert outcome.answer["ok"] is False
    assert field in outcome.fields
    assert outcome.left_behind() == []


@pytest.mark.forbids
def test_a_spec_without_h_kv_is_refused(run: Prepare, spec: dict[str, Any]) -> None:
    del spec["artifact"]["config"]["h_kv"]

    outcome = run(spec)

    assert (outcome.code, outcome.left_behind()) == (2, [])
    assert outcome.answer["findings"][0]["field"] == "artifact.config.h_kv"
    assert outcome.answer["findings"][0]["seen"] == "missing"


@pytest.mark.forbids
def test_a_spec_changed_after_it_was_planned_is_refused(run: Prepare, spec: dict[str, Any]) -> None:
    planned = spec_digest(spec)

    outcome = run(changed(spec, "workload.output_tokens", 9), spec_digest=planned)

    assert (outcome.code, outcome.fields) == (2, ["spec_digest"])


def test_a_port_that_is_taken_exits_3_with_the_command_to_see_who_has_it(
    run: Prepare, spec: dict[str, Any]
) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen(1)
        port = holder.getsockname()[1]

        outcome = run(changed(spec, "engine.port", port))

    assert (outcome.code, outcome.fields) == (3, ["engine.port"])
    assert f"{port} on 127.0.0.1" in outcome.answer["findings"][0]["seen"]
    assert "ss -ltnp" in outcome.answer["findings"][0]["remedy"]
    assert outcome.left_behind() == []


def test_a_free_port_that_was_asked_for_is_taken(run: Prepare, spec: dict[str, Any]) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    outcome = run(changed(spec, "engine.port", port))

    assert json.loads((outcome.out / "context.json").read_bytes())["port"] == port


def test_too_little_disk_exits_3_and_says_how_much_is_wanted(
    run: Prepare, spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9, 1000)
    )

    outcome = run(spec)

    finding = outcome.answer["findings"][0]
    assert outcome.code == 3
    assert finding["seen"].startswith("1000 bytes free at ")
    assert "estimated for the capture" in finding["allowed"]
    assert outcome.left_behind() == []


def test_a_missing_engine_environment_exits_3_with_the_command_to_get_it(
    run: Prepare, spec: dict[str, Any]
) -> None:
    outcome = run(changed(spec, "engine.version", "9.9.9"))

    assert (outcome.code, outcome.fields) == (3, ["engine.environment"])
    assert "pip install 'torch==9.9.9'" in outcome.answer["findings"][0]["seen"]
    assert outcome.left_behind() == []


def test_an_artifact_that_is_not_here_exits_3(
    run: Prepare, spec: dict[str, Any], models: Path, tmp_path: Path
) -> None:
    document = changed(spec, "artifact.source.path", str(models / "elsewhere"))

    outcome = run(document)

    assert (outcome.code, outcome.fields) == (3, ["artifact.source.path"])


@pytest.mark.forbids
def test_a_folder_that_exists_is_not_overwritten(run: Prepare, spec: dict[str, Any]) -> None:
    first = run(spec)
    (first.out / "bundle" / "mine.txt").write_text("keep me", "utf-8")

    second = run(spec)

    assert (second.code, second.fields) == (2, ["OUT"])
    assert (first.out / "bundle" / "mine.txt").read_text("utf-8") == "keep me"


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"spec": {}}'])
def test_a_request_that_is_none_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "request.json"
    path.write_text(content, "utf-8")

    with pytest.raises(Refused, match="REQUEST"):
        prepare.prepare(path, tmp_path / "out")


def test_a_template_that_wants_the_clock_is_refused(
    run: Prepare, spec: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiny, "TEMPLATE", "{{ strftime_now('%d') }}")
    folder = tmp_path / "dated"
    folder.mkdir()
    tiny.write(folder / tiny.FILE)
    document = {**spec, "artifact": tiny.declare(spec["artifact"], folder / tiny.FILE)}
    document["artifact"]["source"]["path"] = str(folder)
    document["artifact"]["revision"] = folder_revision(folder)

    outcome = run(document, artifact_roots=[str(tmp_path)])

    assert (outcome.code, outcome.fields) == (2, ["artifact.chat_template"])


def test_the_estimate_grows_with_what_is_captured_and_stops_at_the_limits() -> None:
    document = example()
    small = {"load": {"requests": 1, "input_tokens": 10, "output_tokens": 10}}
    large = {"load": {"requests": 1, "input_tokens": 10, "output_tokens": 10**9}}

    assert estimate(document, small) < estimate(document, large)
    # four streams, each kept twice while sealing, none beyond its limit; plus the fixed parts
    limit = document["evidence"]["stream_limit_bytes"]
    assert estimate(document, large) <= 2 * 4 * limit + 2**23


def test_an_engine_that_cannot_be_loaded_is_something_the_machine_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "runners.engines.torch.adapter", None)

    with pytest.raises(EnvironmentLacks, match=r"pip install 'assay\[torch\]'"):
        adapter_for("torch")


@pytest.mark.req("5.03")
def test_the_example_is_prepared_by_the_command_in_little_time(tmp_path: Path) -> None:
    document = example()
    request = {
        "spec": document,
        "spec_digest": spec_digest(document),
        "context": {
            "run_id": "R",
            "execution_id": "E",
            "repetition": 0,
            "study": "smollm2_torch",
            "token": "t",
            "artifact_roots": [],
            "secret_names": [],
        },
    }
    (tmp_path / "request.json").write_text(json.dumps(request), "utf-8")
    before_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime

    ended = subprocess.run(
        [sys.executable, "-m", "runners", "prepare", "request.json", "out"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert len(ended.stdout.splitlines()) == 1
    assert json.loads(ended.stdout)["plan"]["load"]["requests"] == 16
    assert (tmp_path / "out" / "bundle" / "plan.parquet").exists()
    # CPU seconds, so that a busy machine does not fail it; about 0.9 s on two idle cores
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before_s < 3.0
