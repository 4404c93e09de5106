"""An interpreter that writes a fixed reading of whatever bundle it is given: for tests of the platform."""

import sys
from pathlib import Path
from typing import Any

from assay.analysis.definition import DEFINITION_VERSION
from runners.protocol import layout, manifest
from tests.assay.execution import behaviour

READING: dict[str, Any] = {
    "definition_version": DEFINITION_VERSION,
    "aggregates": [
        {
            "rule": "ttft.first_content.client",
            "statistic": "p50",
            "value": 0.25,
            "unit": "s",
            "interval": [0.2, 0.3],
            "interval_kind": "bootstrap 95%",
            "percentile_rule": "linear",
            "n": 4,
            "of": 5,
            "population": "completed requests",
            "denominator": "attempts",
            "perspective": "client",
            "clock_domain": "boot/1/monotonic",
            "limited_by": "E1",
            "absent": None,
        },
        {
            "rule": "tpot.last_token",
            "statistic": "p99",
            "value": None,
            "unit": "s",
            "interval": None,
            "interval_kind": None,
            "percentile_rule": None,
            "n": 0,
            "of": 5,
            "population": "completed requests",
            "denominator": "attempts",
            "perspective": "client",
            "clock_domain": "boot/1/monotonic",
            "limited_by": "E1",
            "absent": "needs two tokens",
        },
        {
            "rule": "goodput.offered",
            "statistic": "value",
            "value": None,
            "special": "inf",
            "unit": "1",
            "interval": None,
            "interval_kind": None,
            "percentile_rule": None,
            "n": 5,
            "of": 5,
            "population": "offered requests",
            "denominator": "offered requests",
            "perspective": "client",
            "clock_domain": "boot/1/monotonic",
            "limited_by": "E1",
            "absent": None,
        },
    ],
    "windows": [],
    "ledger_counts": {"client": {"cancelled": 1}, "server": {}, "task": {}, "resource": {}},
    "residuals": [
        {
            "quantity": "step_s.decode",
            "conditions": {"batch": 4},
            "predicted": 0.02,
            "range": [0.01, 0.03],
            "bound": 0.015,
            "measured": 0.025,
            "unit": "s",
            "layer": "engine_loop",
            "relative": 0.25,
            "class": "model_omission",
            "validity": "calibrated",
            "reason": None,
            "overturned_by": "a step under the bound",
        }
    ],
    "gaps": [
        {"what": "no trace", "affects": "kernels", "needed": "a profiler", "state": "open"},
    ],
}


def main() -> int:
    bundle, derived = Path(sys.argv[1]), Path(sys.argv[2])
    behaviour.hang("interpret")
    digest = (bundle / layout.MANIFEST_DIGEST).read_text().strip()
    folder = derived / digest / DEFINITION_VERSION
    folder.mkdir(parents=True, exist_ok=True)
    body = manifest.canonical({**READING, "bundle_digest": digest})
    (folder / "interpretation.json").write_bytes(body)
    return 0


if __name__ == "__main__":
    sys.exit(main())
