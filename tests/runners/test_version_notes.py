"""Before a run: what the pinned version's switches have become, and who may refuse one of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments.changes import catalogue
from runners import prepare
from runners.adapters import adapter_for
from runners.protocol.errors import Refused
from runners.version_notes import Invocation, VersionNotes, read
from tests.experiments.changes.written import write
from tests.runners.engines.vllm import declared

NOTHING = Invocation(command=(), environment={})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def abacus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Records of an engine that the test writes, in place of the shipped ones."""
    monkeypatch.setattr(catalogue, "RECORDS", tmp_path)
    catalogue.records.cache_clear()
    yield tmp_path
    catalogue.records.cache_clear()


def pinned(key: str, version: str | None, kind: str = "url") -> dict[str, Any]:
    environment = {"kind": kind, "lock_sha256": None}
    return {"engine": {"key": key, "version": version, "environment": environment}}


def used(command: str, spec: dict[str, Any], **environment: str) -> VersionNotes:
    return read(spec, Invocation(command=command.split(), environment=environment))


@pytest.mark.req("7.21")
def test_switches_of_the_pinned_version_and_of_those_before_it_are_kept() -> None:
    notes = read(pinned("vllm", "0.32.0"), NOTHING)

    names = [name for switch in notes.document["switches"] for name in switch["names"]]
    assert "--max-num-partial-prefills" in names  # of 0.27.0
    assert "--log-config-file" in names
    assert "--ir-op-priority" not in names  # of 0.33.0
    assert [r["record"] for r in notes.document["records"]][-1] == "vllm 0.32.0"
    assert notes.document["records"][0]["floating"] is True
    assert notes.warnings == notes.refusals == ()


@pytest.mark.req("7.21")
def test_a_deprecated_switch_in_the_command_is_told_with_version_and_replacement() -> None:
    notes = used("vllm serve --log-config-file x.json", pinned("vllm", "0.32.0"))

    (warning,) = notes.warnings
    assert warning.field == "engine.launch.--log-config-file"
    assert "0.32.0" in warning.seen
    assert warning.allowed == "--logging-config.pylogging_config_file"
    assert "this version states" in warning.remedy
    assert notes.refusals == ()
    assert notes.document["warnings"] == [str(warning)]


@pytest.mark.req("7.21")
def test_an_announced_removal_has_not_happened_where_the_parser_takes_the_flag(home: Path) -> None:
    declared.install(home)

    notes = used("vllm serve --log-config-file=x.json", declared.spec())

    assert notes.document["parser"] is not None
    (switch,) = [s for s in notes.document["switches"] if s["names"] == ["--log-config-file"]]
    assert switch["parser_takes"] == {"--log-config-file": True}
    assert notes.refusals == ()
    assert "the installed parser takes it" in notes.warnings[0].seen


@pytest.mark.req("7.21")
@pytest.mark.forbids
def test_a_flag_that_the_installed_parser_does_not_take_is_refused_whatever_records_say(
    home: Path,
) -> None:
    declared.install(home, without=("--log-config-file",))

    notes = used("vllm serve --log-config-file=x.json", declared.spec())

    (refusal,) = notes.refusals
    assert "is no flag of version 0.32.0, by its own parser" in refusal.seen
    assert "use --logging-config.pylogging_config_file" in refusal.remedy
    assert notes.warnings == ()


@pytest.mark.req("7.21")
@pytest.mark.forbids
def test_the_refusal_before_a_run_tells_what_became_of_the_flag(home: Path) -> None:
    declared.install(home, without=("--calculate-kv-scales",))
    spec = declared.spec(flags={"calculate-kv-scales": "1"})

    with pytest.raises(Refused) as refused:
        prepare._check_environment(adapter_for("vllm"), spec)

    (finding,) = refused.value.findings
    assert finding.field == "engine.settings.flags.--calculate-kv-scales"
    assert "vLLM 0.28.0, this version states: " in finding.remedy
    assert "read as third_party, on a page that moves" in finding.remedy


@pytest.mark.req("7.21")
@pytest.mark.forbids
def test_a_removal_that_a_parser_showed_refuses_where_no_dump_is_at_hand() -> None:
    notes = used("x --speculative-skip-dp-mlp-sync", pinned("sglang", "0.5.23"))

    (refusal,) = notes.refusals
    assert refusal.field == "engine.launch.--speculative-skip-dp-mlp-sync"
    assert "0.5.23" in refusal.remedy


@pytest.mark.req("7.21")
def test_a_removal_that_nobody_verified_warns_alone() -> None:
    notes = used("vllm serve --calculate-kv-scales", pinned("vllm", "0.32.0"))

    assert notes.refusals == ()
    assert notes.warnings[0].field == "engine.launch.--calculate-kv-scales"


@pytest.mark.parametrize(
    ("key", "version", "command", "environment", "name"),
    [
        (
            "vllm",
            "0.33.0",
            "x",
            {"VLLM_USE_RAY_COMPILED_DAG_CHANNEL": "1"},
            "VLLM_USE_RAY_COMPILED_DAG_*",
        ),
        (
            "vllm",
            "0.32.0",
            "python -m vllm.entrypoints.openai.api_server --model m",
            {},
            "python -m vllm.entrypoints.openai.api_server",
        ),
        ("sglang", "0.5.23", "x --attention-backend nsa", {}, "--attention-backend nsa"),
        ("sglang", "0.5.23", "x --attention-backend=nsa", {}, "--attention-backend nsa"),
        ("sglang", "0.5.23", "x --dp-size 2", {}, "--dp-size"),
        ("vllm", "0.33.0", "x --no-mamba-cache-mode", {}, "--mamba-cache-mode"),
    ],
)
def test_a_switch_in_use_is_found_in_the_launch(
    key: str, version: str, command: str, environment: dict[str, str], name: str
) -> None:
    notes = used(command, pinned(key, version), **environment)

    assert [n for s in notes.document["switches"] for n in s["used"]] == [name]


def test_another_value_of_the_same_flag_is_not_the_renamed_one() -> None:
    notes = used("x --attention-backend triton", pinned("sglang", "0.5.23"))

    assert notes.warnings == ()


def test_a_flag_that_came_back_is_not_told_as_removed(abacus: Path) -> None:
    _both(abacus)

    assert used("x --old", pinned("abacus", "1.0.0")).refusals != ()
    assert used("x --old", pinned("abacus", "1.1.0")).refusals == ()


def _both(folder: Path) -> None:
    """The record that removes the flag, and one of the next version that adds it again."""
    text = write(folder).read_text(encoding="utf-8")
    head, _, rest = text.partition("records:\n")
    record, _, tail = rest.partition("sources:")
    again = record.replace("kind: removed", "kind: added").replace("1.0.0", "1.1.0")
    (folder / "abacus.yaml").write_text(f"{head}records:\n{record}{again}sources:{tail}", "utf-8")


def test_an_endpoint_without_a_stated_version_has_no_notes() -> None:
    notes = read(pinned("openai_endpoint", None), NOTHING)

    assert notes.document["records"] == notes.document["switches"] == []
    assert notes.document["parser_absent"]
