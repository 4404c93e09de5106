"""The note in the folder of each thing that is installed: what it is, under which pin, since when."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from runners.environments.pins import EnginePin, engines_folder

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Noted = TypeVar("Noted")


def write(noted: "DataclassInstance", file: Path) -> None:
    """Everything it says but its ``folder``, which is where the note lies."""
    document = {k: v for k, v in asdict(noted).items() if k != "folder"}
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def read(kind: Callable[..., Noted], file: Path) -> Noted | None:
    """What is noted there; None if there is no readable note of that kind."""
    try:
        document = json.loads(file.read_bytes())
        return kind(folder=file.parent, **{**document, "pin": EnginePin(**document["pin"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def installed(read_folder: Callable[[Path], Noted | None]) -> Iterator[Noted]:
    """Every whole one, by name. Unfinished ones begin with a dot and are none."""
    folder = engines_folder()
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not path.name.startswith(".") and (found := read_folder(path)) is not None:
            yield found
