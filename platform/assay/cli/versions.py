"""``assay versions``: what was read of engine versions, and what runs have shown of it."""

import argparse
from collections.abc import Sequence

from assay.cli.exits import DONE, complain, print_json, refuse
from experiments.changes import catalogue
from experiments.changes.record import VersionRecord
from experiments.changes.record_document import record_document
from experiments.changes.rules import worded
from experiments.errors import Finding, Refusal
from runners.protocol.documents import Pointer

HELP = (
    "Releases of engines as they were read: `assay versions`, `assay versions vllm`, `assay versions vllm "
    "0.32.0..0.33.0`; or link a run to what it showed: `assay versions confirm RUN NAME --line N`."
)
CONFIRM = "confirm"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="*", metavar="ENGINE [A..B] | confirm RUN NAME")
    parser.add_argument("--line", type=int, help="confirm: the line of engine.log that names it")
    parser.add_argument("--json", action="store_true")


def run(arguments: argparse.Namespace) -> int:
    try:
        if arguments.what[:1] == [CONFIRM]:
            return _confirm(arguments)
        records = _asked(arguments.what)
    except Refusal as refusal:
        return refuse(refusal.findings, as_json=arguments.json)
    if arguments.json:
        print_json([record_document(record) for record in records])
    else:
        for record in records:
            _print(record)
    return DONE


def _asked(what: Sequence[str]) -> list[VersionRecord]:
    if not what:
        return [r for engine in catalogue.engines() for r in catalogue.records(engine)]
    engine, *rest = what
    if engine not in catalogue.engines() or len(rest) > 1:
        allowed = ", ".join(catalogue.engines())
        raise Refusal([_finding("engine", " ".join(what), f"one of {allowed}, and A..B after it")])
    if not rest:
        return list(catalogue.records(engine))
    older, dots, newer = rest[0].partition("..")
    if not dots:
        raise Refusal([_finding("versions", rest[0], "two versions with two dots between")])
    return list(catalogue.between(engine, older, newer))


def _print(record: VersionRecord) -> None:
    floating = ", floating page" if record.source.floating else ""
    head = f"{record.product} {record.version}  {record.status}  read {record.consulted}"
    print(f"{head} as {record.reading}, {record.label}{floating}")  # noqa: T201
    for change in record.changes:
        use = f", use {change.use}" if change.use else ""
        said = worded(record, f"{', '.join(change.names)} {change.kind}{use}", shown_by=None)
        print(f"  {said}")  # noqa: T201


def _confirm(arguments: argparse.Namespace) -> int:
    from assay.cli.database import open_or_complain

    if len(arguments.what) != 3 or arguments.line is None:
        seen = " ".join(arguments.what)
        raise Refusal([_finding("arguments", seen, "confirm RUN NAME --line N")])
    if (code := open_or_complain()) is not None:
        return code
    from assay.cli.exits import REFUSED
    from assay.cli.lookup import AmbiguousRun, one_run
    from assay.versions.confirming import confirm_change
    from runners.protocol import layout

    _, run_id, name = arguments.what
    try:
        found = one_run(run_id)
    except AmbiguousRun as error:
        complain(str(error))
        return REFUSED
    made = confirm_change(found, name, Pointer(file=layout.ENGINE_LOG, line=arguments.line))
    document = {"record": made.record, "statement": made.statement, "run": str(made.run_id)}
    if arguments.json:
        print_json(document)
    else:
        print(f"{made.record}: {made.statement} is shown by run {made.run_id}")  # noqa: T201
    return DONE


def _finding(field: str, seen: str, allowed: str) -> Finding:
    return Finding(field=field, seen=seen, allowed=allowed, remedy="See assay versions --help.")
