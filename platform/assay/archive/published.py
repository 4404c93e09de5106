"""The stored comparison with published measurements, and the parameters that it leaves behind.

``benchmarks/published_measurements.py`` writes the file beside the code that computes it; a test keeps it
current.
"""

import json
from functools import cache
from pathlib import Path

import assay.analysis.published
from assay.analysis.device_estimate.answer import ParameterTable
from assay.analysis.device_estimate.validity import Place
from assay.analysis.published.documents import Comparison

COMPARISON = Path(assay.analysis.published.__file__).parent / "comparison.json"


@cache
def stored_comparison() -> Comparison:
    """The comparison as it was written."""
    found: Comparison = json.loads(COMPARISON.read_text(encoding="utf-8"))
    return found


def published_parameters() -> ParameterTable:
    """Parameters of devices and engines as fitted on published steps."""
    comparison = stored_comparison()
    return ParameterTable(
        parameters=comparison["parameters"],
        places=[
            Place(
                device=place["device"],
                engine=place["engine"],
                layout=(place["tensor"], place["expert"], place["data"]),
                rows=place["rows"],
                context=place["context"],
            )
            for place in comparison["places"]
        ],
        held_out_ratios=comparison["held_out_ratios"],
    )
