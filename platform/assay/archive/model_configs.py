"""Model configurations that are at hand: those shipped with Assay, and those put into the home's ``models``.

A file is ``<organisation>__<model>.json``; a companion ``<same>.hf_quant_config.json`` carries quantization
that the configuration does not. One in the home hides a shipped one of the same name. Only data is read.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import experiments
from assay.archive.paths import Home

SHIPPED = Path(experiments.__file__).parent / "models"
COMPANION = ".hf_quant_config"
MAX_BYTES = 4 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """One configuration by name. ``source`` is ``shipped`` or ``home``."""

    name: str  # organisation/model
    slug: str
    path: Path
    companion: Path | None
    source: str

    def read(self) -> "ModelConfig":
        """Parse it. Raises ValueError for a file that is no JSON object or too large."""
        body = _bytes(self.path)
        companion = None if self.companion is None else _object(_bytes(self.companion))
        return ModelConfig(
            config=_object(body), companion=companion, sha256=hashlib.sha256(body).hexdigest()
        )

    @property
    def state(self) -> tuple[int, ...]:
        """Changes when the files do."""
        found = [self.path.stat()]
        if self.companion is not None:
            found.append(self.companion.stat())
        return tuple(value for stat in found for value in (stat.st_mtime_ns, stat.st_size))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """What the files say, and the sha256 of the configuration's bytes."""

    config: Mapping[str, Any]
    companion: Mapping[str, Any] | None
    sha256: str


def model_files(home: Home) -> dict[str, ModelFile]:
    """Every configuration by slug, sorted by name."""
    found: dict[str, ModelFile] = {}
    for source, folder in (("shipped", SHIPPED), ("home", home.models)):
        if not folder.is_dir():
            continue
        for path in folder.glob("*.json"):
            slug = path.stem
            if slug.endswith(COMPANION):
                continue
            companion = folder / f"{slug}{COMPANION}.json"
            found[slug] = ModelFile(
                name=slug.replace("__", "/", 1),
                slug=slug,
                path=path,
                companion=companion if companion.is_file() else None,
                source=source,
            )
    return dict(sorted(found.items(), key=lambda item: item[1].name.lower()))


def _bytes(path: Path) -> bytes:
    if (size := path.stat().st_size) > MAX_BYTES:
        raise ValueError(f"{path.name}: {size} bytes (allowed: at most {MAX_BYTES})")
    return path.read_bytes()


def _object(body: bytes) -> Mapping[str, Any]:
    document = json.loads(body)  # Python's own: some configurations hold Infinity
    if not isinstance(document, Mapping):
        raise ValueError("not a JSON object")
    return document
