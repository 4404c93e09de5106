"""The command line: a table of verbs, each imported only when it is called.

So that ``load``, ``interpret``, ``predict`` and ``verify`` need neither Django nor a database.
"""

import argparse
import importlib
import secrets
import sys
import traceback
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

from assay.archive.paths import home_from_environment
from assay.cli import server_choice
from assay.cli.exits import FAILED, INTERRUPTED, REFUSED, complain

VERBS: dict[str, tuple[str, str]] = {
    "run": ("assay.cli.run", "run a study here, now"),
    "load": ("assay.cli.load", "a quick look at any endpoint: the load client on its own"),
    "search": ("assay.cli.search", "the highest load that meets an SLO"),
    "submit": ("assay.cli.submit", "queue a study for a worker"),
    "new": ("assay.cli.new", "write a study file of your own"),
    "repeat": ("assay.cli.repeat", "a finished run's declaration again, compared token by token"),
    "compare": ("assay.cli.compare", "two to eight runs: who they are, over what, by how much"),
    "schedule": ("assay.cli.schedule", "studies that are run again and again, and what is watched"),
    "regress": ("assay.cli.regress", "a schedule's study here, now: did anything move?"),
    "finding": ("assay.cli.regress_findings", "what moved: states, owner, comments; bisect"),
    "cancel": ("assay.cli.cancel", "end a queued or running run"),
    "list": ("assay.cli.list_", "runs, newest first, by what is asked of them"),
    "show": ("assay.cli.show", "what came out of a run"),
    "ledgers": ("assay.cli.ledgers", "the four ledgers of a run at one instant"),
    "resources": ("assay.cli.resources", "what a run had to run on, and who else used it"),
    "verify": ("assay.cli.verify", "compare every byte of a bundle with its manifest"),
    "export": ("assay.cli.export", "write a run's bundle to one file"),
    "import": ("assay.cli.import_", "take in an exported file"),
    "report": ("assay.cli.report_file", "a run, comparison or review as one file to read anywhere"),
    "review": ("assay.cli.review", "statements about runs: submit, judge, sign off"),
    "interpret": ("assay.cli.interpret", "read a recorded stream"),
    "predict": ("assay.cli.predict", "bounds from a model's configuration alone"),
    "calibrate": ("assay.cli.calibrate", "fit the parameters of a step to the runs of a scan"),
    "device": ("assay.cli.device", "measure this machine"),
    "engines": (
        "assay.cli.engines",
        "environments of engine versions: install, list, check, remove",
    ),
    "versions": ("assay.cli.versions", "what was read of engine versions, and what runs showed"),
    "artifact": ("assay.cli.artifact", "make an artifact that is derived from another"),
    "doctor": ("assay.cli.doctor", "what works here, what is missing, how to get it"),
    "account": ("assay.cli.account", "people who sign in: add, list, password, disable"),
    "team": ("assay.cli.team", "teams and who is in them"),
    "project": ("assay.cli.project", "projects that studies are put in"),
    "token": ("assay.cli.token", "tokens for the API and assay --server"),
    "up": ("assay.cli.up", "dashboard, worker and scheduler together"),
    "signin": ("assay.cli.signin", "a link that signs you in to the dashboard here"),
    "worker": ("assay.cli.worker", "a worker alone"),
    "beat": ("assay.cli.beat", "the scheduler alone"),
    "health": ("assay.cli.health", "whether a part works here, for a container's check"),
    "web": ("assay.cli.web", "the dashboard alone"),
    "fsck": ("assay.cli.fsck", "compare disk, index and archive; mend what is safe"),
    "archive": ("assay.cli.archive", "bring bundles to the archive of a team, and fetch them"),
    "retain": ("assay.cli.retain", "let go of bundles by a policy; never of what is cited"),
    "backup": ("assay.cli.backup", "database and store in one folder"),
    "restore": ("assay.cli.restore", "a backup into an empty home"),
    "migrate": ("assay.cli.migrate", "bring the database to this version"),
}


def main(argv: Sequence[str] | None = None) -> int:
    choice = server_choice.chosen(list(sys.argv[1:] if argv is None else argv))
    arguments = choice.rest
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        print(overview())  # noqa: T201
        return 0 if arguments else REFUSED
    verb, *rest = arguments
    if verb not in VERBS:
        known = ", ".join(VERBS)
        sys.stderr.write(f"error: verb: {verb} (allowed: {known}). `assay help` explains each\n")
        return REFUSED
    if choice.asked and not choice.serves(verb):
        served = ", ".join(server_choice.SERVED)
        sys.stderr.write(
            f"error: --server: {verb} (allowed: {served}). It works on this machine only\n"
        )
        return REFUSED
    try:
        module = importlib.import_module(VERBS[verb][0])
        parsed = _parsed(_parser(verb, module), rest)
        if not choice.serves(verb):
            return int(module.run(parsed))
        from assay.cli.server import carry_out

        return carry_out(choice.url, verb, parsed)
    except KeyboardInterrupt:
        complain("interrupted (allowed: waiting for the end). Start it again to finish")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python must not complain again at exit.
        sys.stdout = None
        return 0
    except Exception as error:  # noqa: BLE001 - the last boundary: no stack traces for people
        return _unexpected(error)


def _unexpected(error: Exception) -> int:
    """Say what happened in one line; the trace goes to a file, under a reference for the maintainer."""
    reference = secrets.token_hex(4)
    path = home_from_environment().root / "logs" / "errors.log"
    trace = "".join(traceback.format_exception(error))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as stream:
            stream.write(f"reference {reference}\n{trace}\n")
    except OSError:
        sys.stderr.write(trace)  # a full or read-only disk: better here than nowhere
    complain(
        f"{type(error).__name__}: {str(error).strip()} (allowed: no error of Assay's own). "
        f"Please report it with reference {reference} from {path}"
    )
    return FAILED


def overview() -> str:
    width = max(len(v) for v in VERBS)
    lines = [f"  {verb:<{width}}  {text}" for verb, (_, text) in VERBS.items()]
    return "\n".join(
        ["usage: assay [--server URL] VERB ...", "", *lines, "", "assay VERB --help explains one."]
    )


class _Parser(argparse.ArgumentParser):
    """argparse, with its complaints said as every other refusal is."""

    def error(self, message: str) -> NoReturn:
        usage = " ".join(self.format_usage().removeprefix("usage: ").split())
        complain(f"arguments: {message} (allowed: {usage}). `{self.prog} --help` explains each")
        sys.exit(REFUSED)


def _parser(verb: str, module: ModuleType) -> argparse.ArgumentParser:
    parser = _Parser(prog=f"assay {verb}", description=module.HELP)
    module.add_arguments(parser)
    return parser


def _parsed(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """Options may stand among the overrides: ``assay run study=x -m load.concurrency=1,2``."""
    try:
        return parser.parse_intermixed_args(arguments)
    except TypeError:  # a verb with sub-commands cannot mix them
        return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
