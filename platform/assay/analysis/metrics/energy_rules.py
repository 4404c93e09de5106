"""Energy and cost of a load window: definitions by meter. ``assay.analysis.energy`` computes them."""

from collections.abc import Iterator

from assay.analysis.metrics.rule import ANY_CALL, Definition

_WINDOW = "a window: the steady part of the load, else first send to last end"
# rule prefix -> title, layer, what must be readable
_METERS = {
    "energy.accelerator": ("accelerator boards", "device", "NVML's energy or power readings"),
    "energy.cpu_package": ("processor packages", "host", "readable RAPL counters"),
}
_PRICE = "a declared price (device.price)"


def _definition(
    rule: str, title: str, formula: str, unit: str, *, layer: str, population: str, needs: str
) -> Definition:
    return Definition(
        id=rule,
        version=1,
        title=title,
        formula=formula,
        unit=unit,
        perspective="client",
        layer=layer,
        population=population,
        needs=f"{_WINDOW}; {needs}",
        source="design, section 7",
        call_types=ANY_CALL,
    )


def _of_meter(rule: str, label: str, layer: str, needs: str) -> Iterator[Definition]:
    whole = "energy of the window, whatever became of its attempts"
    for name, title, formula, unit in (
        ("total", "Energy", "E(end) - E(start) of every device", "J"),
        ("per_request", "Energy by request", "energy / attempts completed in the window", "J"),
        (
            "per_output_token",
            "Energy by output token",
            "energy / output tokens that arrived in the window",
            "J",
        ),
        (
            "idle_share",
            "Idle share of energy",
            "energy while no attempt was in flight / energy",
            "1",
        ),
    ):
        yield _definition(
            f"{rule}.{name}",
            f"{title}, {label}",
            formula,
            unit,
            layer=layer,
            population=whole,
            needs=needs,
        )


def _of_price() -> Iterator[Definition]:
    charged = "amount x devices x hours of the window, or amount x metered kWh"
    for name, title, formula in (
        ("total", "Cost", charged),
        ("per_request", "Cost by request", "cost / attempts completed in the window"),
        (
            "per_output_token",
            "Cost by output token",
            "cost / output tokens that arrived in the window",
        ),
    ):
        yield _definition(
            f"cost.{name}",
            title,
            formula,
            "currency",
            layer="declaration",
            population="price of the window, whatever became of its attempts",
            needs=_PRICE,
        )


ENERGY_RULES: dict[str, Definition] = {
    rule.id: rule
    for rule in (
        *(d for prefix, meter in _METERS.items() for d in _of_meter(prefix, *meter)),
        *_of_price(),
    )
}
