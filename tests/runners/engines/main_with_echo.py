"""``python -m runners`` with the echo engine in its catalogue."""

import sys

from runners import catalogue
from runners.__main__ import main

catalogue.ENGINES["echo"] = catalogue.EngineEntry(
    label="echo (tests)", adapter="tests.runners.engines.echo:ADAPTER"
)

if __name__ == "__main__":
    sys.exit(main())
