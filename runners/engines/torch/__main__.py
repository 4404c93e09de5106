"""``python -m runners.engines.torch --config FILE.json``: start the engine and serve until told to stop."""

import argparse
import sys
from pathlib import Path

from runners.engines.torch.front import serve
from runners.engines.torch.settings import read_config
from runners.protocol.errors import RunnerError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m runners.engines.torch", description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    path = parser.parse_args().config.resolve()
    try:
        config = read_config(path)
    except RunnerError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - before any log is configured
        return error.exit_code
    return serve(config, path)


if __name__ == "__main__":
    sys.exit(main())
