"""Run by the interpreter of a vLLM environment: print its version and every flag of its server as JSON.

It stands alone: nothing of Assay can be imported there, and nothing of vLLM here.
"""

import argparse
import importlib
import json
import re
import sys
from collections.abc import Sequence
from typing import Any

HOMES = ("vllm.entrypoints.launchers.cli_args", "vllm.entrypoints.openai.cli_args")


def main() -> None:
    vllm = importlib.import_module("vllm")
    version = importlib.import_module("vllm._version")
    arguments = importlib.import_module("vllm.utils.argparse_utils")
    parser = _first(HOMES).make_arg_parser(arguments.FlexibleArgumentParser(prog="vllm"))
    document = {
        "version": vllm.__version__,
        "build": getattr(version, "commit_id", None),
        "flags": [_row(action) for action in parser._actions if action.option_strings],
    }
    sys.stdout.write("\n" + json.dumps(document) + "\n")


def _first(names: Sequence[str]) -> Any:
    """The module moved between versions."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    raise SystemExit(f"none of {', '.join(names)} is there")


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
