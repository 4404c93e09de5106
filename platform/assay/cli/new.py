"""``assay new study NAME``: write a study file of one's own, and say how to run it."""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.archive.paths import home_from_environment
from assay.cli.exits import DONE, REFUSED, complain, print_json, refuse
from experiments.checks.policy import Policy
from experiments.compose import CONF, choices, compose
from experiments.errors import Finding, Refusal
from experiments.errors import refuse as refusal_of
from experiments.group_titles import titled
from experiments.new_study import GROUPS, Answers, check_name, files
from experiments.overrides import parsed_values
from experiments.plan import plan

HELP = (
    "Write a commented study file into your own folder (ASSAY_STUDIES, or studies below ASSAY_HOME). What is "
    "not given is asked for at a terminal, or taken over from --from. Nothing is overwritten."
)
DEFAULT_BASE = "smollm2_smoke"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=("study",), help="what to write")
    parser.add_argument("name", nargs="?", default="", help="its name, a word of small letters")
    parser.add_argument(
        "values", nargs="*", metavar="PATH=VALUE", help="what to set: load.concurrency=4"
    )
    parser.add_argument("--from", dest="base", help="a study whose groups are taken over")
    for group in GROUPS:
        parser.add_argument(f"--{group}", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--title")
    parser.add_argument("--question")
    parser.add_argument("--tags", help="words with commas between")
    parser.add_argument("--folder", type=Path, help="another folder of group files")
    parser.add_argument("--list", action="store_true", help="the files of each group, and end")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    folder = _folder(arguments)
    try:
        own = folder if folder.is_dir() else None
        names = choices(studies=own)
        if arguments.list:
            _list(names, own)
            return DONE
        check_name(arguments.name, taken=names["study"])
        answers = _answers(arguments, names, own)
        made = files(answers)
        _check(made, folder, answers.name)
    except Refusal as refusal:
        return refuse(refusal.findings, as_json=arguments.json)
    except EOFError:
        complain(
            "answers: they ended before the last question (allowed: an answer to each, or --from)"
        )
        return REFUSED
    written = _write(made, folder)
    _say(arguments, answers.name, folder, written)
    return DONE


def _folder(arguments: argparse.Namespace) -> Path:
    named = arguments.folder or os.environ.get("ASSAY_STUDIES")
    return Path(named).resolve() if named else home_from_environment().studies


def _answers(
    arguments: argparse.Namespace, names: Mapping[str, Sequence[str]], own: Path | None
) -> Answers:
    values = parsed_values(arguments.values, groups=names)
    asks = sys.stdin.isatty() and arguments.base is None
    base = arguments.base or DEFAULT_BASE
    taken = compose([f"study={base}"], studies=own).choices
    groups = {}
    for group in GROUPS:
        given = getattr(arguments, group)
        if given is None and asks:
            given = _ask(f"{group} ({', '.join(names[group])})", taken[group])
        groups[group] = _known(group, given or taken[group], names)
    title, question = arguments.title, arguments.question
    if asks:
        title = title if title is not None else _ask("title", "")
        question = question if question is not None else _ask("question it answers", "")
    tags = [tag.strip() for tag in (arguments.tags or "").split(",") if tag.strip()]
    return Answers(
        name=arguments.name,
        title=title or "",
        question=question or "",
        tags=tags,
        groups=groups,
        values=values,
    )


def _ask(what: str, default: str) -> str:
    sys.stderr.write(f"{what} [{default}]: ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.strip() or default


def _known(group: str, name: str, names: Mapping[str, Sequence[str]]) -> str:
    if name not in names[group]:
        raise refusal_of(
            field=group,
            seen=name,
            allowed=", ".join(names[group]),
            remedy=f"Choose one of them, or write {group}/{name}.yaml first.",
        )
    return name


def _check(made: Mapping[str, str], folder: Path, name: str) -> None:
    """Compose and plan the study as it would stand, beside what is in the folder already."""
    if standing := [path for path in made if (folder / path).exists()]:
        raise Refusal(
            [
                Finding(
                    field="name",
                    seen=f"{folder / path} is there already",
                    allowed="a new file",
                    remedy="Nothing is overwritten; choose another name.",
                )
                for path in standing
            ]
        )
    with tempfile.TemporaryDirectory(prefix="assay-new-") as temporary:
        trial = Path(temporary) / "studies"
        if folder.is_dir():
            shutil.copytree(folder, trial)
        for path, text in made.items():
            (trial / path).parent.mkdir(parents=True, exist_ok=True)
            (trial / path).write_text(text, encoding="utf-8")
        plan(
            [compose([f"study={name}"], studies=trial)], policy=Policy.from_environment(os.environ)
        )


def _write(made: Mapping[str, str], folder: Path) -> list[Path]:
    """Group files first: the study file, which names them, is the last to appear."""
    written = []
    for path, text in sorted(made.items(), key=lambda item: item[0].startswith("study/")):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("x", encoding="utf-8") as stream:
            stream.write(text)
        written.append(target)
    return written


def _say(arguments: argparse.Namespace, name: str, folder: Path, written: Sequence[Path]) -> None:
    standard = arguments.folder is None
    command = ["assay", "run", *([] if standard else ["--studies", str(folder)]), f"study={name}"]
    if arguments.json:
        print_json(
            {"study": name, "files": [str(p) for p in written], "command": " ".join(command)}
        )
        return
    for path in written:
        print(f"wrote   {path}")  # noqa: T201
    print(f"run     {' '.join(command)}")  # noqa: T201


def _list(names: Mapping[str, Sequence[str]], own: Path | None) -> None:
    for group, found in titled(names, shipped=CONF, own=own).items():
        print(group)  # noqa: T201
        for file in found:
            mine: Any = "  (yours)" if file.is_own else ""
            print(f"  {file.name:<24} {file.title}{mine}")  # noqa: T201
