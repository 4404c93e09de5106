"""The command line: a table of verbs, each imported only when it is called.

So that ``load``, ``interpret``, ``predict`` and ``verify`` need neither Django nor a database.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from types import ModuleType

from assay.cli.exits import INTERRUPTED, REFUSED

VERBS: dict[str, tuple[str, str]] = {
    "run": ("assay.cli.run", "run a study here, now"),
    "submit": ("assay.cli.submit", "queue a study for a worker"),
    "cancel": ("assay.cli.cancel", "end a queued or running run"),
    "show": ("assay.cli.show", "what came out of a run"),
    "verify": ("assay.cli.verify", "compare every byte of a bundle with its manifest"),
    "export": ("assay.cli.export", "write a run's bundle to one file"),
    "import": ("assay.cli.import_", "take in an exported file"),
    "interpret": ("assay.cli.interpret", "read a recorded stream"),
    "predict": ("assay.cli.predict", "bounds from a model's configuration alone"),
    "device": ("assay.cli.device", "measure this machine"),
    "doctor": ("assay.cli.doctor", "what works here, what is missing, how to get it"),
    "up": ("assay.cli.up", "dashboard, worker and scheduler together"),
    "worker": ("assay.cli.worker", "a worker alone"),
    "beat": ("assay.cli.beat", "the scheduler alone"),
    "web": ("assay.cli.web", "the dashboard alone"),
    "migrate": ("assay.cli.migrate", "bring the database to this version"),
}


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        print(overview())  # noqa: T201
        return 0 if arguments else REFUSED
    verb, *rest = arguments
    if verb not in VERBS:
        known = ", ".join(VERBS)
        sys.stderr.write(f"error: verb: {verb} (allowed: {known}). `assay help` explains each\n")
        return REFUSED
    module = importlib.import_module(VERBS[verb][0])
    try:
        return int(module.run(_parser(verb, module).parse_args(rest)))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python must not complain again at exit.
        sys.stdout = None
        return 0


def overview() -> str:
    width = max(len(v) for v in VERBS)
    lines = [f"  {verb:<{width}}  {text}" for verb, (_, text) in VERBS.items()]
    return "\n".join(["usage: assay VERB ...", "", *lines, "", "assay VERB --help explains one."])


def _parser(verb: str, module: ModuleType) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"assay {verb}", description=module.HELP)
    module.add_arguments(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
