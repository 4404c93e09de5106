"""What the runner's processes say on standard output: one JSON document, the last line that is one."""

import json
from collections.abc import Mapping
from typing import Any

from experiments.errors import Finding


def last_document(stdout: str) -> dict[str, Any]:
    for line in reversed(stdout.splitlines()):
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            return found
    return {}


def finding(raw: Mapping[str, Any]) -> Finding:
    return Finding(
        field=str(raw.get("field", "")),
        seen=str(raw.get("seen", "")),
        allowed=str(raw.get("allowed", "")),
        remedy=str(raw.get("remedy", "")),
    )
