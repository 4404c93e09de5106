"""What an engine environment is pinned to: engine, version, variant; and where environments lie.

``vllm==0.32.0`` with variant ``cpu`` is the folder ``vllm-0.32.0-cpu`` below ``ASSAY_HOME/engines``.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import runners
from runners.catalogue import ENGINES
from runners.protocol.errors import Finding, Refused

_PACKAGE = Path(runners.__file__).resolve().parent
_REQUEST = re.compile(r"([a-z][a-z0-9_]*)==(\d+(?:\.\d+)+(?:[.+-]?[0-9A-Za-z]+)*)")
_VARIANT = re.compile(r"[a-z][a-z0-9.]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePin:
    key: str
    version: str
    variant: str

    @property
    def name(self) -> str:
        return f"{self.key}-{self.version}-{self.variant}"

    @property
    def adapter_folder(self) -> Path:
        return _PACKAGE / "engines" / self.key

    @property
    def install_command(self) -> str:
        return f"assay engines install {self.key}=={self.version} --variant {self.variant}"

    @classmethod
    def parse(cls, request: str, variant: str) -> Self:
        """``KEY==VERSION`` and a variant. Raises Refused for anything that is no exact pin."""
        match = _REQUEST.fullmatch(request)
        if match is None or match[1] not in ENGINES:
            known = ", ".join(sorted(ENGINES))
            raise refused("engine", request, f"KEY==VERSION, with KEY one of {known}", "Pin it.")
        if not _VARIANT.fullmatch(variant):
            allowed = "lower-case letters, digits and dots, such as cpu or cuda13"
            raise refused("variant", variant, allowed, "Name the kind of build.")
        return cls(key=match[1], version=match[2], variant=variant)


def home() -> Path:
    """``ASSAY_HOME``, or ``var/`` of the checkout: the same rule as the platform's."""
    return Path(os.environ.get("ASSAY_HOME") or _PACKAGE.parent / "var").resolve()


def engines_folder() -> Path:
    return home() / "engines"


def artifacts_folder() -> Path:
    """Artifacts that were made on this machine; always an allowed root."""
    return home() / "artifacts"


def refused(field: str, seen: str, allowed: str, remedy: str) -> Refused:
    return Refused(Finding(field=field, seen=seen, allowed=allowed, remedy=remedy))
