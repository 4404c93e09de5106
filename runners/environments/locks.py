"""Locks: every distribution of an engine environment with its version and its file's sha256.

Shipped ones lie in ``runners/engines/<key>/locks/<version>-<variant>.txt``; a lock of one's own is given as a
file. The sha256 of its bytes is the pin that a declaration names (``engine.environment.lock_sha256``).
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from runners.environments.pins import EnginePin, refused

_ENTRY = re.compile(r"([A-Za-z0-9][\w.-]*)==([^\s\\]+)\s*\\?\s*")
_HASH = re.compile(r"\s+--hash=sha256:[0-9a-f]{64}\s*\\?\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """``distributions`` maps normalised names to versions."""

    path: Path
    sha256: str
    distributions: dict[str, str]


def shipped(pin: EnginePin) -> Lock:
    """The lock that comes with Assay. Raises Refused, naming the ones there are."""
    folder = pin.adapter_folder / "locks"
    path = folder / f"{pin.version}-{pin.variant}.txt"
    if not path.is_file():
        known = ", ".join(f"{pin.key}=={stem}" for stem in shipped_stems(folder)) or "none"
        raise refused(
            "engine",
            f"no lock for {pin.key}=={pin.version}, variant {pin.variant}",
            f"a shipped lock ({known}), or one of your own",
            "Give the lock with --lock FILE: every distribution with its version and sha256.",
        )
    return read(path)


def shipped_stems(folder: Path) -> list[str]:
    """``VERSION --variant VARIANT`` of each shipped lock."""
    stems = sorted(path.stem for path in folder.glob("*.txt"))
    return [" --variant ".join(stem.rsplit("-", 1)) for stem in stems]


def read(path: Path) -> Lock:
    """Raises Refused for a file in which any distribution lacks an exact version or a hash."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise refused("lock", f"{path}: {error.strerror}", "a readable file", "Give it.") from error
    return Lock(
        path=path,
        sha256=hashlib.sha256(data).hexdigest(),
        distributions=_distributions(path, data.decode("utf-8", "replace").splitlines()),
    )


def normalised(name: str) -> str:
    """A distribution's name as indexes compare it: ``PyYAML`` and ``py_yaml`` are told apart, case is not."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _distributions(path: Path, lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    name, hashes = "", 1
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if _HASH.fullmatch(line):
            hashes += 1
            continue
        entry = _ENTRY.fullmatch(line)
        if entry is None or not hashes:
            seen = f"{path.name}:{number}: {line.strip()}" if entry is None else f"{name}, no hash"
            raise refused("lock", seen, "NAME==VERSION with --hash=sha256:...", "Lock it again.")
        name, hashes = normalised(entry[1]), 0
        found[name] = entry[2]
    if not found or not hashes:
        seen = f"{name}, no hash" if found else f"{path.name}: no distribution"
        raise refused("lock", seen, "NAME==VERSION with --hash=sha256:...", "Lock it again.")
    return found
