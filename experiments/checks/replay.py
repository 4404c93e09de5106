"""Is a replay's recording named as a config may name files, and pinned?"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from experiments.checks.policy import Policy
from experiments.errors import Finding

DIGEST = re.compile(r"[0-9a-f]{64}")
FASTEST, SLOWEST = 1000.0, 0.001


def check(settings: Mapping[str, Any], policy: Policy) -> Iterator[Finding]:
    """Everything that is wrong with the ``engine.settings`` of a replay."""
    if not policy.allows_file(str(settings["bundle"])):
        roots = ", ".join(policy.artifact_roots) or "none configured"
        yield Finding(
            field="engine.settings.bundle",
            seen=str(settings["bundle"]) or "empty",
            allowed=f"the absolute path of a sealed bundle below an allowed root ({roots})",
            remedy="Move the bundle there, or allow its root in the settings (ASSAY_ARTIFACT_ROOTS).",
        )
    if not DIGEST.fullmatch(str(settings["bundle_digest"])):
        yield Finding(
            field="engine.settings.bundle_digest",
            seen=str(settings["bundle_digest"]) or "empty",
            allowed="64 hexadecimal digits: the sha256 of the bundle's manifest",
            remedy="Copy it from assay show RUN.",
        )
    if not SLOWEST <= settings["speed"] <= FASTEST:
        yield Finding(
            field="engine.settings.speed",
            seen=str(settings["speed"]),
            allowed=f"{SLOWEST:g} to {FASTEST:g}",
            remedy="1 keeps the recorded times.",
        )
