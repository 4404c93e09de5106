"""What an execution says of itself at its end, as one line."""

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What ``execute`` and ``reap`` say on standard output, as one JSON line."""

    state: str
    bundle: str
    bundle_digest: str | None
    reason: str | None
    exit_code: int

    def line(self) -> str:
        return json.dumps(asdict(self))
