"""Parameters that nothing has measured yet: each named, with an interval and the reason for it.

They are assumptions and labelled so. A calibration may replace one by a fit; none is ever tuned to make a
residual go away.
"""

from assay.analysis.devices.machine import Interval
from assay.analysis.forecast.terms import PROMPT_MASK, SAMPLED_ROW, STATE_VIEW, STEP_OVERHEAD
from runners.protocol.documents import Parameter

ELEMENTS = "elementwise_elements"
FRONT = "front_s"
RUNTIME_MEMORY = "runtime_memory_bytes"

_ASSUMED: dict[str, tuple[Interval, str, str]] = {
    STEP_OVERHEAD: (
        Interval(value=1e-3, low=2e-4, high=4e-3),
        "s",
        "scheduling, tensor set-up and event log of one iteration, and the engine's own Python in all layers "
        "beyond the plain block that was measured (one depth of model cannot tell the two apart)",
    ),
    SAMPLED_ROW: (
        Interval(value=5e-4, low=0.0, high=3e-3),
        "s",
        "sampling of one row, and front end and client work per streamed token on the model loop's cores",
    ),
    STATE_VIEW: (
        Interval(value=0.0, low=0.0, high=2e-10),
        "s/byte",
        "reading K/V through strided views, padding and masks, which the contiguous reads measured have not",
    ),
    PROMPT_MASK: (
        Interval(value=0.0, low=0.0, high=2e-11),
        "s/FLOP",
        "attention of a chunk over a stored beginning: an explicit mask, nothing skipped as causal",
    ),
    ELEMENTS: (
        Interval(value=36.0, low=20.0, high=60.0),
        "1",
        "elements moved per row and layer in units of d_model: two norms (2 x 7), rotary embedding (6), "
        "residuals (2 x 3), gate and product at d_ff = 8/3 d_model (4 x 8/3)",
    ),
    FRONT: (
        Interval(value=6e-3, low=1e-3, high=3e-2),
        "s",
        "request parsing, templating, tokenizing, the hop to the model process, first write and read",
    ),
    RUNTIME_MEMORY: (
        Interval(value=7e8, low=2.5e8, high=2e9),
        "byte",
        "interpreter, torch and transformers, weights while loading, activations",
    ),
}


def assumed(name: str) -> Interval:
    return _ASSUMED[name][0]


def parameter(name: str) -> Parameter:
    """The assumption as a parameter with its source label."""
    interval, unit, reason = _ASSUMED[name]
    return Parameter(
        name=name,
        value=interval.value,
        unit=unit,
        source="assumption",
        reference=reason,
        date=None,
        spread=[interval.low, interval.high],
    )
