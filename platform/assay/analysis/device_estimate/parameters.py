"""What is known of the named parameters before any fit: value, interval, source label and reason.

Ratios are rated over sustained, so 1 is the rated figure and nothing is faster. A fit may move a parameter
inside its interval and not beyond; what no fitted step has moved stays as it stands here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.analysis.device_estimate import terms
from assay.analysis.errors import ClaimRefused
from runners.protocol.documents import Parameter

MICRO_BENCHMARK, ASSUMPTION, FIT = "micro-benchmark", "assumption", "fit"
FRONT = "front_s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One parameter before a fit. ``scope``: the devices, engines or links it is meant for."""

    value: float
    low: float
    high: float
    unit: str
    source: str
    scope: str
    reason: str


def _ratio(value: float, low: float, high: float, *, source: str, scope: str, reason: str) -> Known:
    return Known(
        value=value, low=low, high=high, unit="1", source=source, scope=scope, reason=reason
    )


def _seconds(value: float, low: float, high: float, *, scope: str, reason: str) -> Known:
    return Known(
        value=value, low=low, high=high, unit="s", source=ASSUMPTION, scope=scope, reason=reason
    )


_NVLINK, _PCIE, _ACROSS = "NVLink", "PCIe", "across"

KNOWN: Mapping[str, Known] = {
    f"{terms.WEIGHT_PASS}.HBM2": _ratio(
        1.2, 1.15, 1.25, source=MICRO_BENCHMARK, scope="devices with HBM2 or HBM2e",
        reason="2039 rated over about 1700 GB/s, which gpt-fast's authors state for their A100 cards",
    ),
    f"{terms.WEIGHT_PASS}.HBM3": _ratio(
        1.15, 1.05, 1.25, source=ASSUMPTION, scope="devices with HBM3 or HBM3e",
        reason="long reads reach 80 to 95 % of the rated figure; no source here measured it",
    ),
    f"{terms.WEIGHT_PASS}.GDDR": _ratio(
        1.08, 1.02, 1.2, source=ASSUMPTION, scope="devices with GDDR6X or GDDR7",
        reason="one controller a chip loses less than stacked memory; no source here measured it",
    ),
    terms.STATE_PASS: _ratio(
        1.5, 1.1, 3.0, source=ASSUMPTION, scope="attention of decoding sequences over paged K/V, all devices",
        reason="blocks of 16 tokens, unequal lengths and a second pass that joins partial results",
    ),
    terms.PRODUCTS: _ratio(
        1.5, 1.2, 2.5, source=ASSUMPTION, scope="products that the matrix peak bounds, all devices",
        reason="dense products of prompts reach 40 to 80 % of the rated peak under a power limit",
    ),
    terms.DEQUANTIZE: Known(
        value=1e-13, low=0.0, high=3e-13, unit="s", source=ASSUMPTION,
        scope="weight-only integer kernels, each weight of a pass",
        reason="unpacking on a card of 1e13 simple operations a second",
    ),
    f"{terms.LAYER}.compiled": _seconds(
        4e-5, 2e-5, 8e-5, scope="one layer under gpt-fast",
        reason="about 8 kernels that start, fill and drain in 3 to 8 us each",
    ),
    f"{terms.LAYER}.serving": _seconds(
        4e-5, 5e-6, 1e-4, scope="one layer under a serving engine with captured graphs",
        reason="about 10 kernels of hand-tuned code that start, fill and drain",
    ),
    terms.EXPERT_LAYER: _seconds(
        3e-5, 0.0, 1e-4, scope="what a layer with experts takes more",
        reason="routing, sorting and uneven groups",
    ),
    f"{terms.STEP}.compiled": _seconds(
        1e-4, 0.0, 1e-3, scope="one step under gpt-fast", reason="replay of one captured graph",
    ),
    f"{terms.STEP}.serving": _seconds(
        1e-3, 0.0, 5e-3, scope="one step under a serving engine",
        reason="scheduling, input tensors and hand-over on the host",
    ),
    terms.ROW: _seconds(
        1e-5, 0.0, 1e-4, scope="one sampled row under a serving engine",
        reason="sampling, stop checks and detokenizing",
    ),
    f"{terms.ALPHA}.{_NVLINK}": _seconds(
        1e-5, 5e-6, 3e-5, scope="one message inside a domain", reason="small all-reduces take 5 to 30 us",
    ),
    f"{terms.ALPHA}.{_PCIE}": _seconds(
        2e-5, 1e-5, 6e-5, scope="one message between two cards",
        reason="as over NVLink, with a longer way through the host bridge",
    ),
    f"{terms.ALPHA}.{_ACROSS}": _seconds(
        5e-5, 2e-5, 2e-4, scope="one message across domains", reason="network, not shared memory",
    ),
    f"{terms.LINK_PASS}.{_NVLINK}": _ratio(
        1.5, 1.1, 3.0, source=ASSUMPTION, scope="moved bytes, over one direction as rated",
        reason="collectives of a few MB do not fill the link",
    ),
    f"{terms.LINK_PASS}.{_PCIE}": _ratio(
        2.0, 1.1, 4.0, source=ASSUMPTION, scope="moved bytes, over one direction as rated",
        reason="without direct access between cards each byte passes host memory",
    ),
    f"{terms.LINK_PASS}.{_ACROSS}": _ratio(
        1.2, 1.0, 2.0, source=ASSUMPTION,
        scope=f"moved bytes, over {terms.ACROSS_BYTES_PER_S / 1e9:.0f} GB/s a device",
        reason="one 400 Gbit/s adapter for each device is assumed; the source does not state its network",
    ),
    FRONT: _seconds(
        5e-3, 1e-3, 3e-2, scope="what a client's time to the first token has beside steps",
        reason="parsing, tokenizing, hand-over and the way back; enters no step and no fit",
    ),
}  # fmt: skip


def known(name: str) -> Known:
    """The parameter of that name; one that nothing is known of is refused."""
    if name not in KNOWN:
        raise ClaimRefused(
            field="parameter",
            seen=name,
            allowed=", ".join(sorted(KNOWN)),
            remedy="Nothing is known of it: measure it, or add it with its source and interval.",
        )
    return KNOWN[name]


def before(name: str) -> Parameter:
    """The parameter as it stands before a fit."""
    found = known(name)
    return Parameter(
        name=name,
        value=found.value,
        unit=found.unit,
        source=found.source,
        reference=f"{found.scope}: {found.reason}",
        date=None,
        spread=[found.low, found.high],
    )


def starting_values() -> dict[str, float]:
    """Every parameter's value before a fit."""
    return {name: entry.value for name, entry in KNOWN.items()}
