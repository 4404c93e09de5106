"""Verify an artifact's pins against the bytes on disk, before anything is launched.

Every file is hashed; every declared field that the files state is compared with them; what they do not
state, and what nobody knows, is listed as a gap. Nothing declared is taken over as found.
"""

import hashlib
import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from experiments.identity import artifact_digest
from runners.artifacts.input_encoder import InputEncoder
from runners.evidence import gguf_facts, safetensors_facts
from runners.evidence.artifact_comparison import (
    disagreements,
    excluded_layers,
    text_identity,
    unlike,
)
from runners.evidence.artifact_facts import ArtifactFacts, Fact
from runners.evidence.artifact_sources import Located, locate
from runners.protocol.documents import ArtifactIdentity, Gap, VerifiedFile
from runners.protocol.errors import EnvironmentLacks, Finding, Refused
from runners.protocol.manifest import sha256_of

COUNTING_MODULES = (
    "runners.artifacts.tokenizer",
    "runners.artifacts.chat_template",
    "runners.load.prompts",
)
COUNTING_PACKAGES = ("tokenizers", "jinja2", "transformers")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedArtifact:
    """``files`` maps each declared path to the file that was hashed."""

    identity: ArtifactIdentity
    files: Mapping[str, Path]
    encoder: InputEncoder


def verify(artifact: Mapping[str, Any], *, roots: Sequence[Path] = ()) -> VerifiedArtifact:
    """The artifact as found, agreeing with its declaration in everything the files state.

    Raises Refused with one finding for each disagreement, both values named; EnvironmentLacks if the source
    is not on this machine.
    """
    located = locate(artifact["source"], str(artifact["revision"]), roots=roots)
    files, findings = _hashed(artifact["files"], located)
    if findings:
        raise Refused(*findings)
    facts = _facts(artifact, located.base, files)
    findings = [
        *disagreements(artifact, facts.stated),
        *excluded_layers(artifact["precision"]["weights"], facts.tensor_dtypes),
        *text_identity(artifact, facts),
    ]
    if findings:
        raise Refused(*findings)
    return VerifiedArtifact(
        identity=_identity(artifact, facts, located), files=files, encoder=facts.encoder
    )


def encoder_of(artifact: Mapping[str, Any], files: Mapping[str, Path]) -> InputEncoder:
    """Template and tokenizer of files that were verified before, by their declared paths."""
    name, path = next(iter(files.items()))
    return _facts(artifact, path.parents[len(Path(name).parts) - 1], files).encoder


def _hashed(
    declared: Sequence[Mapping[str, Any]], located: Located
) -> tuple[dict[str, Path], list[Finding]]:
    files: dict[str, Path] = {}
    findings: list[Finding] = []
    for index, entry in enumerate(declared):
        field, name = f"artifact.files.{index}", str(entry["path"])
        path = located.base / name
        if not path.is_file():
            raise EnvironmentLacks(
                Finding(
                    field=f"{field}.path",
                    seen=f"{path} is not there",
                    allowed="every declared file",
                    remedy="Fetch the artifact again; its source is incomplete on this machine.",
                )
            )
        files[name] = path
        size = path.stat().st_size
        if size != entry["bytes"]:
            findings.append(unlike(f"{field}.bytes", entry["bytes"], size, name))
            continue
        seen = sha256_of(path)
        if seen != entry["sha256"]:
            findings.append(unlike(f"{field}.sha256", entry["sha256"], seen, name))
        noted = located.recorded_sha256.get(name)
        if noted is not None and noted != seen:
            findings.append(
                unlike(f"{field}.sha256", noted, seen, f"{name} as the installer noted")
            )
    return files, findings


def _facts(artifact: Mapping[str, Any], base: Path, files: Mapping[str, Path]) -> ArtifactFacts:
    formats = {str(entry["format"]) for entry in artifact["files"]}
    if formats == {"gguf"} and len(files) == 1:
        declared = str(artifact["precision"]["weights"]["dtype"])
        return gguf_facts.read(next(iter(files.values())), declared_dtype=declared)
    if formats == {"safetensors"}:
        return safetensors_facts.read(base, list(files.values()))
    raise Refused(
        Finding(
            field="artifact.files",
            seen=f"{len(files)} files of format {', '.join(sorted(formats))}",
            allowed="one gguf file, or any number of safetensors files",
            remedy="Other formats cannot be compared with the declaration.",
        )
    )


def _identity(
    artifact: Mapping[str, Any], facts: ArtifactFacts, located: Located
) -> ArtifactIdentity:
    tokenizer = {**artifact["tokenizer"], "named_ids": dict(facts.named_special_ids)}
    return ArtifactIdentity(
        digest=artifact_digest(artifact),
        name=str(artifact["name"]),
        revision=str(artifact["revision"]),
        source=dict(artifact["source"]),
        parent=None if artifact["parent"] is None else dict(artifact["parent"]),
        files=[
            VerifiedFile(path=f["path"], sha256=f["sha256"], bytes=f["bytes"], format=f["format"])
            for f in artifact["files"]
        ],
        config=dict(artifact["config"]),
        precision=dict(artifact["precision"]),
        tokenizer=tokenizer,
        chat_template=dict(artifact["chat_template"]),
        tools=dict(artifact["tools"]),
        generation=dict(artifact["generation"]),
        reproducibility=dict(artifact["reproducibility"]),
        packages=_counting_versions(),
        gaps=[*located.gaps, *_gaps(artifact, facts.stated)],
    )


def _gaps(artifact: Mapping[str, Any], stated: Mapping[str, Fact]) -> Iterator[Gap]:
    source = artifact["source"]
    upstream = source["upstream_repository"] or "the upstream repository"
    if source["kind"] != "hf" and source["upstream_revision"] is None:
        yield _gap(
            f"the commit of {upstream} that these files were made from is not known",
            "statements about that repository; this artifact is pinned by its own bytes",
            "a commit sha stated by whoever made the files",
        )
    weights = artifact["precision"]["weights"]
    if artifact["parent"] is None and weights["scale"] is not None:
        yield _gap(
            f"how the {weights['dtype']} weights were made is not known: parent, recipe, tool versions",
            "any comparison with the model that they were converted from",
            "the parent's artifact digest, the recipe and the versions of its tools",
        )
    unstated = [
        key
        for key, value in artifact["config"].items()
        if value is not None
        and f"config.{key}" not in stated
        and not any(path.startswith(f"config.{key}.") for path in stated)
    ]
    if unstated:
        yield _gap(
            f"the files do not state config fields: {', '.join(unstated)}",
            "work and capacity computed from these fields, which are declared only",
            "the model's own source, or a run that shows them",
        )
    if weights["scale"] is not None and "precision.weights.scale" not in stated:
        yield _gap(
            f"the scale layout of {weights['dtype']} is declared and was not compared with the file",
            "effective bits per weight",
            "a reader for this format's nested scales",
        )


def _gap(what: str, affects: str, needed: str) -> Gap:
    return Gap(what=what, affects=affects, needed=needed, state="open")


def _counting_versions() -> dict[str, str]:
    """What counted the tokens: library versions, and the hash of each of our modules that did it."""
    versions: dict[str, str] = {}
    for name in COUNTING_PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    for module in COUNTING_MODULES:
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.origin is not None:
            digest = hashlib.sha256(Path(spec.origin).read_bytes()).hexdigest()
            versions[module] = f"sha256:{digest}"
    return versions
