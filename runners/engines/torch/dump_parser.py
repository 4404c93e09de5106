"""Run by the interpreter of an image for the torch engine: print torch's version and build as JSON.

It stands alone, as the other engines' do. The engine's code is Assay's own and is mounted; its one flag is
``--config``.
"""

import importlib
import json
import sys


def main() -> None:
    torch = importlib.import_module("torch")
    flag = {
        "names": ["--config"],
        "takes_value": True,
        "choices": None,
        "default": "None",
        "deprecated": False,
    }
    document = {
        "version": torch.__version__.partition("+")[0],
        "build": torch.version.git_version,
        "flags": [flag],
    }
    sys.stdout.write("\n" + json.dumps(document) + "\n")


if __name__ == "__main__":
    main()
