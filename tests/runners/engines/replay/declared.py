"""Declarations of a replay: those of the recorded run, with another engine."""

from pathlib import Path
from typing import Any

from runners.engines.replay.versions import VERSION
from tests.runners.engines.openai_endpoint import declared


def spec(bundle: Path = Path("/recorded/bundle"), digest: str = "0" * 64) -> dict[str, Any]:
    document = declared.spec()
    document["engine"] |= {
        "key": "replay",
        "version": VERSION,
        "environment": {
            "kind": "platform",
            "lock_sha256": None,
            "image": None,
            "image_digest": None,
            "image_root": "read_only",
            "url": None,
        },
        "settings": {"bundle": str(bundle), "bundle_digest": digest, "speed": 1.0},
    }
    return document
