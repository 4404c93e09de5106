"""``python -m runners engines install | list | check | remove``: what ``assay engines`` runs."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runners.environments import (
    checking,
    image_installing,
    images,
    installing,
    locks,
    records,
)
from runners.environments.images import InstalledImage
from runners.environments.pins import EnginePin, refused
from runners.environments.records import Environment

Installed = Environment | InstalledImage


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    install = verbs.add_parser("install", help="make the environment of one engine version")
    install.add_argument("engine", metavar="KEY==VERSION")
    install.add_argument("--variant", default="cpu", help="the kind of build (default: cpu)")
    source = install.add_mutually_exclusive_group()
    source.add_argument("--lock", type=Path, help="a lock of your own instead of a shipped one")
    source.add_argument(
        "--image", metavar="REPOSITORY@sha256:DIGEST", help="a container image instead of a venv"
    )
    install.set_defaults(engines_verb=_install)
    listed = verbs.add_parser("list", help="what is installed")
    listed.set_defaults(engines_verb=_list)
    check = verbs.add_parser("check", help="compare environments with their locks")
    check.add_argument("name", nargs="*", help="all of them if none is named")
    check.set_defaults(engines_verb=_check)
    remove = verbs.add_parser("remove", help="take an environment away")
    remove.add_argument("name")
    remove.set_defaults(engines_verb=_remove)
    for verb in (install, listed, check, remove):
        verb.add_argument("--json", action="store_true", dest="as_json")


def run(arguments: argparse.Namespace) -> int:
    """The exit code. Raises what the verb refuses or lacks."""
    return int(arguments.engines_verb(arguments))


def _install(arguments: argparse.Namespace) -> int:
    if arguments.image:
        noted = image_installing.install(arguments.engine, arguments.image, tell=_tell)
        text = f"{noted.pin.name} in {noted.folder}\nimage {noted.reference}"
        _say(arguments, noted.document(), text)
        return 0
    pin = EnginePin.parse(arguments.engine, arguments.variant)
    lock = locks.read(arguments.lock) if arguments.lock else locks.shipped(pin)
    made = installing.install(pin, lock, tell=_tell)
    _say(arguments, made.document(), f"{made.pin.name} in {made.folder}\nlock {made.lock_sha256}")
    return 0


def _known() -> dict[str, Installed]:
    found: list[Installed] = [*records.installed(), *images.installed()]
    return {e.pin.name: e for e in found}


def _list(arguments: argparse.Namespace) -> int:
    found = [known for _, known in sorted(_known().items())]
    lines = [
        f"{e.pin.name}  image {e.reference}  build {e.build}"
        if isinstance(e, InstalledImage)
        else f"{e.pin.name}  lock {e.lock_sha256[:12]}  build {e.build}  {e.folder}"
        for e in found
    ]
    _say(arguments, [e.document() for e in found], "\n".join(lines) or "none is installed")
    return 0


def _check(arguments: argparse.Namespace) -> int:
    known = _known()
    names: Sequence[str] = arguments.name or sorted(known)
    problems = {name: _problems(_one(known, name)) for name in names}
    document = [{"name": name, "problems": found} for name, found in problems.items()]
    lines = [f"{name}: {'; '.join(found) or 'as pinned'}" for name, found in problems.items()]
    _say(arguments, document, "\n".join(lines) or "none is installed")
    return 1 if any(problems.values()) else 0


def _problems(one: Installed) -> list[str]:
    if isinstance(one, InstalledImage):
        return [problem] if (problem := images.problem(one)) else []
    return list(checking.check(one).problems)


def _remove(arguments: argparse.Namespace) -> int:
    one = _one(_known(), arguments.name)
    if isinstance(one, InstalledImage):
        image_installing.remove(one)
    else:
        checking.remove(one)
    _say(arguments, {"removed": one.pin.name}, f"{one.pin.name} is removed")
    return 0


def _one(known: Mapping[str, Installed], name: str) -> Installed:
    if name not in known:
        allowed = ", ".join(sorted(known)) or "none is installed"
        raise refused("name", name, allowed, "See assay engines list.")
    return known[name]


def _tell(words: str) -> None:
    sys.stderr.write(words + "\n")


def _say(arguments: argparse.Namespace, document: Any, text: str) -> None:
    sys.stdout.write((json.dumps(document) if arguments.as_json else text) + "\n")
