"""Have a bundle read by the interpreter, in a process of its own, and bring back what it wrote."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.analysis.definition import DEFINITION_VERSION
from assay.archive.paths import Home
from assay.execution import launcher

DOCUMENT = "interpretation.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An interpretation with the digest of its bytes; or, with ``problem``, the reason why there is none."""

    document: Mapping[str, Any] | None
    digest: str
    problem: str


def interpret(
    home: Home,
    bundle: Path,
    *,
    digest: str,
    scratch: Path,
    on_tick: Callable[[], None] = lambda: None,
) -> Reading:
    """Interpret ``bundle`` (its digest is ``digest``) into ``derived/<digest>/<definition version>/``."""
    command = launcher.interpreter(bundle, home.derived)
    ended = launcher.run_to_end(command, folder=scratch, name="interpret", on_tick=on_tick)
    if ended.exit_code != 0:
        last = ended.log_tail.splitlines()[-1:] or ["no message"]
        return _absent(f"the interpretation ended with exit code {ended.exit_code}: {last[0]}")
    return stored_reading(home, digest)


def stored_reading(home: Home, digest: str, *, version: str = DEFINITION_VERSION) -> Reading:
    """The interpretation of a bundle as it lies in ``derived/``."""
    path = home.derived / digest / version / DOCUMENT
    if not path.is_file():
        return _absent(f"no interpretation of version {version} lies in {path.parent}")
    body = path.read_bytes()
    return Reading(document=json.loads(body), digest=hashlib.sha256(body).hexdigest(), problem="")


def _absent(problem: str) -> Reading:
    return Reading(document=None, digest="", problem=problem)
