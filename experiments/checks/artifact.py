"""Is an artifact pinned to exact bytes, and described well enough to be reviewed?"""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from experiments.checks.policy import Policy
from experiments.errors import Finding

COMMIT = re.compile(r"[0-9a-f]{40}")
SHA256 = re.compile(r"[0-9a-f]{64}")
FOLDER_REVISION = re.compile(r"sha256:[0-9a-f]{64}")
REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
PARTS = ("config", "precision", "tokenizer", "chat_template")
POSITIVE_CONFIG = ("L", "d_model", "h", "h_kv", "d_head", "d_ff", "V", "max_length")


def check(artifact: Mapping[str, Any], policy: Policy) -> Iterator[Finding]:
    """Everything that is wrong with an artifact's pins, files, configuration and parent."""
    if artifact["source"]["kind"] == "endpoint":
        yield from _unseen(artifact)
        return
    if unsaid := [part for part in PARTS if artifact[part] is None]:
        for part in unsaid:
            yield _needed(
                f"artifact.{part}", "null", "described whole; only an endpoint's is unknown"
            )
        return
    yield from _source(artifact, policy)
    yield from _files(artifact["files"])
    yield from _config(artifact["config"])
    yield from _parent(artifact["parent"])
    yield from _reproducibility(artifact["reproducibility"])
    for item in ("tokenizer", "chat_template"):
        yield from _sha256(f"artifact.{item}.sha256", artifact[item]["sha256"])


def _unseen(artifact: Mapping[str, Any]) -> Iterator[Finding]:
    """Nobody has seen what an endpoint serves, so nothing may be stated of it."""
    for key in ("revision", "parent", "files", *PARTS):
        if artifact[key]:
            yield Finding(
                field=f"artifact.{key}",
                seen="declared",
                allowed="null (files: none), because artifact.source.kind is endpoint",
                remedy="Declare the artifact by its own source to have prompts counted by its tokenizer.",
            )


def _source(artifact: Mapping[str, Any], policy: Policy) -> Iterator[Finding]:
    source, revision = artifact["source"], str(artifact["revision"])
    kind = source["kind"]
    if kind == "hf":
        if not COMMIT.fullmatch(revision):
            yield _floating(revision, "a commit sha of 40 hexadecimal digits")
        if not REPOSITORY.fullmatch(str(source["repository"])):
            yield _needed("artifact.source.repository", source["repository"], "organisation/model")
    elif kind == "package":
        yield from _package(source, revision)
    else:
        if not FOLDER_REVISION.fullmatch(revision):
            yield _floating(revision, "sha256: and the hash of the sorted file list")
        yield from _folder(source["path"], policy)


def _package(source: Mapping[str, Any], revision: str) -> Iterator[Finding]:
    missing = [k for k in ("package", "version", "wheel_sha256", "path") if not source[k]]
    for key in missing:
        yield _needed(f"artifact.source.{key}", source[key], f"the package's {key}")
    if missing:
        return
    yield from _sha256("artifact.source.wheel_sha256", source["wheel_sha256"])
    expected = f"{source['package']}=={source['version']}+sha256:{source['wheel_sha256']}"
    if revision != expected:
        yield _floating(revision, expected)
    if _escapes(source["path"]):
        yield _needed("artifact.source.path", source["path"], "a relative path inside the package")


def _folder(path: str | None, policy: Policy) -> Iterator[Finding]:
    roots = ", ".join(policy.artifact_roots) or "none configured"
    if path is not None and not PurePosixPath(path).is_absolute() and not _escapes(path):
        return  # looked for below each allowed root, and among the artifacts made on this machine
    if path is None or not policy.allows_file(path):
        yield Finding(
            field="artifact.source.path",
            seen=str(path),
            allowed=f"a path below an allowed root ({roots}), absolute or relative to one",
            remedy="Move the folder there, or allow its root in the settings (ASSAY_ARTIFACT_ROOTS).",
        )


def _files(files: list[Mapping[str, Any]]) -> Iterator[Finding]:
    if not files:
        yield _needed("artifact.files", "[]", "every weight file with its sha256 and size")
    for index, file in enumerate(files):
        where = f"artifact.files.{index}"
        yield from _sha256(f"{where}.sha256", file["sha256"])
        if _escapes(file["path"]):
            yield _needed(f"{where}.path", file["path"], "a relative path inside the source")
        if file["bytes"] < 1:
            yield _needed(f"{where}.bytes", file["bytes"], "a size above 0")
        if file["format"] not in ("gguf", "safetensors", "bin"):
            yield _needed(f"{where}.format", file["format"], "gguf, safetensors, bin")
    paths = [file["path"] for file in files]
    for path in sorted({p for p in paths if paths.count(p) > 1}):
        yield _needed("artifact.files", f"{path} twice", "each file once")


def _config(config: Mapping[str, Any]) -> Iterator[Finding]:
    for key in POSITIVE_CONFIG:
        if config[key] < 1:
            yield _needed(f"artifact.config.{key}", config[key], "a count above 0")
    h, h_kv = config["h"], config["h_kv"]
    if h_kv > 0 and h % h_kv:
        yield Finding(
            field="artifact.config.h_kv",
            seen=str(h_kv),
            allowed=f"a divisor of h ({h})",
            remedy="Each KV head serves a whole number of query heads; read it from the model's config.",
        )


def _parent(parent: Mapping[str, Any] | None) -> Iterator[Finding]:
    if parent is None:
        return
    yield from _sha256("artifact.parent.digest", parent["digest"])
    if not str(parent["recipe"]).strip():
        yield _needed("artifact.parent.recipe", "empty", "how it was converted")
    if not parent["tools"] or not all(str(v).strip() for v in parent["tools"].values()):
        yield _needed("artifact.parent.tools", parent["tools"], "each tool with its version")


def _reproducibility(claim: Mapping[str, Any]) -> Iterator[Finding]:
    """Before a run only its inputs can be claimed; a seed is evidence of nothing."""
    if claim["claimed"] != "input":
        yield Finding(
            field="artifact.reproducibility.claimed",
            seen=f"{claim['claimed']} ({claim['evidence'] or 'no evidence'})",
            allowed="input",
            remedy="Numeric, distribution and semantic claims rest on comparing runs, made afterwards; a "
            "fixed seed is no evidence of them.",
        )
    elif not str(claim["evidence"]).strip():
        yield _needed("artifact.reproducibility.evidence", "empty", "what shows equal inputs")


def _sha256(field: str, value: Any) -> Iterator[Finding]:
    if not SHA256.fullmatch(str(value)):
        yield _needed(field, value, "a sha256 of 64 hexadecimal digits")


def _floating(revision: str, allowed: str) -> Finding:
    return Finding(
        field="artifact.revision",
        seen=revision,
        allowed=allowed,
        remedy="A branch, a tag or a name can move; pin the immutable id.",
    )


def _needed(field: str, seen: Any, allowed: str) -> Finding:
    return Finding(
        field=field, seen=str(seen), allowed=allowed, remedy="Declare it in the artifact's file."
    )


def _escapes(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return not parts or path.startswith("/") or ".." in parts or "\\" in path
