"""Engine environments as their installation notes them, without the engine."""

import hashlib
import json

from assay.archive.paths import Home


def install(
    home: Home, key: str, *versions: str, variant: str = "cpu", lock: str | None = None
) -> None:
    for version in versions:
        folder = home.engines / f"{key}-{version}-{variant}"
        folder.mkdir(parents=True)
        note = {
            "pin": {"key": key, "version": version, "variant": variant},
            "lock_sha256": lock or hashlib.sha256(version.encode()).hexdigest(),
        }
        (folder / "environment.json").write_text(json.dumps(note))
