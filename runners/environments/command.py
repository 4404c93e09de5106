"""``python -m runners engines install | list | check | remove``: what ``assay engines`` runs."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runners.environments import checking, installing, locks, records
from runners.environments.pins import EnginePin, refused


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    install = verbs.add_parser("install", help="make the environment of one engine version")
    install.add_argument("engine", metavar="KEY==VERSION")
    install.add_argument("--variant", default="cpu", help="the kind of build (default: cpu)")
    install.add_argument("--lock", type=Path, help="a lock of your own instead of a shipped one")
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
    pin = EnginePin.parse(arguments.engine, arguments.variant)
    lock = locks.read(arguments.lock) if arguments.lock else locks.shipped(pin)
    made = installing.install(pin, lock, tell=_tell)
    _say(arguments, made.document(), f"{made.pin.name} in {made.folder}\nlock {made.lock_sha256}")
    return 0


def _list(arguments: argparse.Namespace) -> int:
    found = list(records.installed())
    lines = [f"{e.pin.name}  lock {e.lock_sha256[:12]}  build {e.build}  {e.folder}" for e in found]
    _say(arguments, [e.document() for e in found], "\n".join(lines) or "none is installed")
    return 0


def _check(arguments: argparse.Namespace) -> int:
    known = {e.pin.name: e for e in records.installed()}
    names: Sequence[str] = arguments.name or sorted(known)
    if absent := [name for name in names if name not in known]:
        allowed = ", ".join(sorted(known)) or "none is installed"
        raise refused("name", absent[0], allowed, "See assay engines list.")
    checked = [checking.check(known[name]) for name in names]
    document = [{"name": c.environment.pin.name, "problems": list(c.problems)} for c in checked]
    lines = [
        f"{c.environment.pin.name}: {'; '.join(c.problems) or 'as its lock says'}" for c in checked
    ]
    _say(arguments, document, "\n".join(lines) or "none is installed")
    return 1 if any(c.problems for c in checked) else 0


def _remove(arguments: argparse.Namespace) -> int:
    gone = checking.remove(arguments.name)
    _say(arguments, {"removed": gone.pin.name}, f"{gone.pin.name} is removed")
    return 0


def _tell(words: str) -> None:
    sys.stderr.write(words + "\n")


def _say(arguments: argparse.Namespace, document: Any, text: str) -> None:
    sys.stdout.write((json.dumps(document) if arguments.as_json else text) + "\n")
