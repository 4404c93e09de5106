"""Configurations that are at hand, read once for as long as their files stay the same."""

from dataclasses import dataclass
from functools import lru_cache

from django.conf import settings
from django.http import Http404

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.quantization.declared import Declared, declared_formats
from assay.analysis.perfmodel.reading.reader import read_structure
from assay.analysis.perfmodel.structure import Structure
from assay.archive.model_configs import ModelFile, model_files
from assay.archive.paths import Home
from runners.protocol.errors import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """One configuration with what was read out of it, or the finding that refused it."""

    file: ModelFile
    sha256: str | None
    structure: Structure | None
    declared: Declared | None
    finding: Finding | None

    @property
    def quantization(self) -> str:
        return "" if self.declared is None else self.declared.weights.label


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """Element types that a question asks for in place of the declared ones; None keeps the declared."""

    weight_dtype: str | None = None
    kv_dtype: str | None = None


def known_models() -> list[KnownModel]:
    """All of them, in order of their names, as declared."""
    return [known(file, Executed()) for file in model_files(Home(settings.HOME)).values()]


def known_model(slug: str, executed: Executed) -> KnownModel:
    """The one under this name. Raises Http404."""
    file = model_files(Home(settings.HOME)).get(slug)
    if file is None:
        raise Http404(f"no configuration is named {slug}")
    return known(file, executed)


def known(file: ModelFile, executed: Executed) -> KnownModel:
    return _read(file, file.state, executed)


@lru_cache(maxsize=512)
def _read(file: ModelFile, _state: tuple[int, ...], executed: Executed) -> KnownModel:
    """``_state`` makes a changed file another key."""
    try:
        found = file.read()
    except (ValueError, OSError, RecursionError) as error:
        finding = Finding(
            field="config",
            seen=f"{file.path.name}: {error}",
            allowed="a readable JSON object",
            remedy="Mend or remove the file.",
        )
        return KnownModel(file=file, sha256=None, structure=None, declared=None, finding=finding)
    try:
        structure = read_structure(found.config)
        declared = declared_formats(
            structure,
            found.config,
            companion=found.companion,
            weight_dtype=executed.weight_dtype,
            kv_dtype=executed.kv_dtype,
        )
    except ModelRefused as refusal:
        return KnownModel(
            file=file,
            sha256=found.sha256,
            structure=None,
            declared=None,
            finding=refusal.finding,
        )
    return KnownModel(
        file=file, sha256=found.sha256, structure=structure, declared=declared, finding=None
    )
