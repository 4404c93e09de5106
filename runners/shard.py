"""``python -m runners drive-shard CONFIG``: one client process of a run that has several.

It masks secrets in what it captures as the runner itself does, with a note file of its own.
"""

import json
import os
from pathlib import Path

from runners.evidence.record import REDACTIONS, wire_transform
from runners.evidence.secrets import from_environment
from runners.load.shard_process import ShardConfig, run
from runners.protocol.workspace import Workspace


def main(path: Path) -> int:
    config = ShardConfig(**json.loads(path.read_text(encoding="utf-8")))
    workspace = Workspace(Path(config.root))
    redactor = from_environment(workspace.context()["secret_names"], os.environ)
    notes = workspace.root / f"{Path(REDACTIONS).stem}-{config.worker}.jsonl"
    return run(config, redact_wire=wire_transform(redactor, notes))
