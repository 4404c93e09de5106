"""The exit codes for verbs, and how an error is said. Stable: scripts rely on both."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from runners.protocol.exit_codes import DONE as DONE
from runners.protocol.exit_codes import FAILED as FAILED
from runners.protocol.exit_codes import INTERRUPTED as INTERRUPTED
from runners.protocol.exit_codes import LACKING as LACKING
from runners.protocol.exit_codes import REFUSED as REFUSED


def complain(*messages: str) -> None:
    """One ``error:`` line per message on stderr."""
    for message in messages:
        sys.stderr.write(f"error: {message}\n")


def refuse(findings: Iterable[Any], *, exit_code: int = REFUSED, as_json: bool = False) -> int:
    """Say what is wrong, finding by finding (field, seen, allowed, remedy), and give the exit code back.

    With ``as_json`` the findings stand on stdout too, so that a script need not parse prose.
    """
    found: Sequence[Any] = list(findings)
    complain(*(str(f) for f in found))
    if as_json:
        rows = [
            {"field": f.field, "seen": f.seen, "allowed": f.allowed, "remedy": f.remedy}
            for f in found
        ]
        print_json({"refused": rows, "exit_code": exit_code})
    return exit_code


def print_json(document: Any) -> None:
    """One JSON document on stdout. NaN is refused: non-finite values have their own form."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n")
    sys.stdout.flush()
