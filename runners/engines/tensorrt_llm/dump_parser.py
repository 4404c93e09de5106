"""Run by the interpreter of a TensorRT-LLM environment: print its version and every flag of ``trtllm-serve``.

It stands alone: nothing of Assay can be imported there, and nothing of TensorRT-LLM here. Its parser is a
click command. Never run here.
"""

import importlib
import json
import sys
from typing import Any


def main() -> None:
    product = importlib.import_module("tensorrt_llm")
    command = importlib.import_module("tensorrt_llm.commands.serve").serve
    document = {
        "version": product.__version__,
        "build": None,
        "flags": [_row(p) for p in command.params if p.param_type_name == "option"],
    }
    sys.stdout.write("\n" + json.dumps(document) + "\n")


def _row(option: Any) -> dict[str, Any]:
    choices = getattr(option.type, "choices", None)
    return {
        "names": [*option.opts, *option.secondary_opts],
        "takes_value": not option.is_flag,
        "choices": None if choices is None else sorted(str(c) for c in choices),
        "default": repr(option.default),
        "deprecated": "deprecated" in (option.help or "").lower(),
    }


if __name__ == "__main__":
    main()
