"""Run by the interpreter of an SGLang environment: print its version and every flag of its server as JSON.

It stands alone: nothing of Assay can be imported there, and nothing of SGLang here. Where packages of a
device build are not installed, the stand-ins beside this file are imported in their place.
"""

import argparse
import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

STAND_INS = Path(__file__).resolve().parent / "stand_ins"


def main() -> None:
    sys.path.append(str(STAND_INS))  # behind what is installed
    version = importlib.import_module("sglang.version")
    arguments = importlib.import_module("sglang.srt.server_args")
    parser = argparse.ArgumentParser(prog="sglang serve")
    arguments.ServerArgs.add_cli_args(parser)
    document = {
        "version": version.__version__,
        "build": _build(),
        "flags": [_row(action) for action in parser._actions if action.option_strings],
    }
    sys.stdout.write("\n" + json.dumps(document) + "\n")


def _build() -> str | None:
    try:
        return getattr(importlib.import_module("sglang._version"), "commit_id", None)
    except ModuleNotFoundError:
        return None


def _row(action: argparse.Action) -> dict[str, Any]:
    choices = None if action.choices is None else sorted(str(c) for c in action.choices)
    return {
        "names": list(action.option_strings),
        "takes_value": action.nargs != 0,
        "choices": choices,
        "default": repr(action.default),
        "deprecated": bool(re.search(r"deprecated", action.help or "", re.I)),
    }


if __name__ == "__main__":
    main()
