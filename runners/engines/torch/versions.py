"""Which library versions this engine is pinned to, what is installed, and the digest of its own source."""

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

NAME = "assay-torch"
_LOCK = Path(__file__).resolve().parents[3] / "constraints.txt"
# The engine's version is torch's; the declaration pins it. These two are pinned with it.
PINS = {"transformers": "5.24.0", "gguf": "0.19.0"}
RECORDED = ("torch", "transformers", "gguf", "tokenizers", "accelerate", "uvicorn", "httptools")


def installed(package: str) -> str | None:
    """The installed version of a distribution with its local part (``2.13.0+cpu``), or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def public(version: str) -> str:
    """A version without its local part: ``2.13.0+cpu`` -> ``2.13.0``."""
    return version.partition("+")[0]


def recorded() -> dict[str, str | None]:
    """Installed versions of everything whose code is on the request's path."""
    return {package: installed(package) for package in RECORDED}


@cache
def platform_lock() -> str | None:
    """sha256 of the lock of Assay's own environment, where this engine runs; None where none is shipped."""
    try:
        return hashlib.sha256(_LOCK.read_bytes()).hexdigest()
    except OSError:
        return None


@cache
def build_digest() -> str:
    """sha256 over names and bytes of this engine's own modules, in name order."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
