"""``assay doctor``: what works here, what is missing, and the command to get it."""

import argparse
import sys
from dataclasses import asdict

from assay.cli.checks import Check, State, all_checks
from assay.cli.exits import DONE, LACKING, print_json

HELP = "Look at this machine: Python parts, engines, artifacts, databases, browser, disk, cores."
SIGNS = {State.ok: "ok", State.missing: "missing", State.optional: "optional"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    checks = all_checks()
    missing = [c for c in checks if c.state is State.missing]
    if arguments.json:
        print_json({"ok": not missing, "checks": [asdict(c) for c in checks]})
    else:
        sys.stdout.write("\n".join(_line(c) for c in checks) + "\n")
    return LACKING if missing else DONE


def _line(check: Check) -> str:
    remedy = f"\n{'':10}get it: {check.remedy}" if check.remedy else ""
    return f"{SIGNS[check.state]:<9} {check.name}: {check.seen}{remedy}"
