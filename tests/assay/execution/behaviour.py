"""How the fake runner and the fake interpreter behave: told in ``FAKE_RUNNER``, or in the file it names.

A file can be changed while a worker runs.
"""

import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

WAYS = {"seal": 12, "fail": 2, "crash": 2, "damage": 1, "deaf": 0}  # of ten "any", how often each


def told() -> dict[str, Any]:
    text = os.environ.get("FAKE_RUNNER", "{}")
    if not text.startswith("{"):
        text = Path(text).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def chosen(out: Path) -> tuple[str, float]:
    """What this execution does, and for how long it works; ``any`` draws both from its own id."""
    behaviour = told()
    how, seconds = behaviour.get("execute", "seal"), float(behaviour.get("seconds", 0.0))
    if how != "any":
        return how, seconds
    drawn = random.Random(f"{behaviour.get('seed', 0)}/{out.parent.name}")
    return drawn.choices(list(WAYS), list(WAYS.values()))[0], drawn.uniform(0, seconds)


def hang(phase: str) -> None:
    """Where the behaviour says so: leave a mark, and stay until killed or until the starter is gone."""
    behaviour = told()
    if behaviour.get("hang_in") == phase:
        mark = Path(behaviour["mark"])
        mark.with_suffix(".part").write_text(str(os.getpid()), encoding="ascii")
        mark.with_suffix(".part").rename(mark)
        starter = os.getppid()
        while os.getppid() == starter:
            time.sleep(0.02)
        sys.exit(1)
