"""A decode step on an accelerator as a sum of named amounts, each times one parameter.

    T = sum over operators of max(FLOPs / C_eff, bytes / beta_eff)        charged to the roof that bounds it
        + layers x layer_s + expert layers x expert_layer_s + step_s + rows x row_s
        + messages x (alpha + moved bytes / B)  + prompts that run in between

Amounts of traffic and work are seconds at rated figures, so that their parameters are ratios of rated over
sustained, by access pattern and kind of memory. The sum is serial; nothing scales it as a whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.analysis.devices.catalogue import device, peak_flops_per_s
from assay.analysis.devices.figures import Device
from assay.analysis.perfmodel.operators import Operator
from assay.analysis.perfmodel.parallel.laid_out import LaidOut
from assay.analysis.perfmodel.parallel.messages import Account
from assay.analysis.perfmodel.parallel.shards import experts_of
from assay.analysis.perfmodel.quantization.declared import Declared

WEIGHT_PASS = "weight_pass"  # .HBM, .GDDR
STATE_PASS = "state_pass"
PRODUCTS = "products"
DEQUANTIZE = "dequantize_s_per_weight"
LAYER = "layer_s"  # .compiled, .serving
EXPERT_LAYER = "expert_layer_s"
STEP = "step_s"  # .compiled, .serving
ROW = "row_s"
ALPHA = "message_s"  # .NVLink, .PCIe, .across
LINK_PASS = "link_pass"

ACROSS_BYTES_PER_S = 50e9  # 400 Gbit/s of one adapter a device; named in ``parameters``
UNPACKING = ("gptq_", "awq_")  # formats whose integers are unpacked before each product
COMPILED_ENGINES = (
    "gpt-fast",
)  # the whole step is one captured graph; the next token needs no host


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLoad:
    """Sequences over all replicas and what they store; prompts that run between their steps.

    A step of ``batch`` sequences that each produce ``output`` tokens sees batch / output prompts of ``new``
    tokens. ``overlapped``: two micro-batches hide messages behind work.
    """

    batch: int
    context: int
    busy_replicas: int | None = None
    new: int | None = None
    reused: int = 0
    output: int | None = None
    overlapped: bool = False


@dataclass(slots=True)
class Amounts:
    """Parameter name -> amount, of a rank's own work and of its messages."""

    work: dict[str, float] = field(default_factory=dict)
    messages: dict[str, float] = field(default_factory=dict)

    def together(self) -> dict[str, float]:
        names = self.work.keys() | self.messages.keys()
        return {
            name: self.work.get(name, 0.0) + self.messages.get(name, 0.0) for name in sorted(names)
        }


def step_amounts(model: LaidOut, load: StepLoad, *, device_name: str, engine: str) -> Amounts:
    """The amounts of one mean step under this load."""
    entry = device(device_name)
    rows = -(-load.batch // (load.busy_replicas or model.layout.data))
    found = Amounts()
    decode = model.decode(batch=load.batch, context=load.context, busy_replicas=load.busy_replicas)
    _add_operators(found.work, decode, model.declared, entry)
    _add_constants(found.work, model, rows=rows, engine=engine)
    if load.new and load.output:
        prompt = model.prompt(new=load.new, reused=load.reused)
        _add_operators(found.work, prompt, model.declared, entry, share=rows / load.output)
    _add_messages(found.messages, model, rows=rows, entry=entry)
    return found


def prompt_amounts(
    model: LaidOut, *, new: int, reused: int, device_name: str, engine: str
) -> Amounts:
    """The amounts of a step that runs one whole prompt alone."""
    entry = device(device_name)
    found = Amounts()
    _add_operators(found.work, model.prompt(new=new, reused=reused), model.declared, entry)
    _add_constants(found.work, model, rows=1, engine=engine)
    _add_messages(found.messages, model, rows=new, entry=entry)
    return found


def _add_constants(amounts: dict[str, float], model: LaidOut, *, rows: int, engine: str) -> None:
    """What a step, a layer and a sampled row take whatever they move."""
    kind = "compiled" if engine in COMPILED_ENGINES else "serving"
    layers = model.structure.layers
    _add(amounts, f"{LAYER}.{kind}", len(layers))
    _add(amounts, EXPERT_LAYER, sum(experts_of(x.feed_forward) is not None for x in layers))
    _add(amounts, f"{STEP}.{kind}", 1)
    if kind == "serving":
        _add(amounts, ROW, rows)


def memory_kind(entry: Device) -> str:
    """The family of the device's memory: HBM2, HBM3 or GDDR, each with its enhanced forms."""
    return entry.memory_level[:4]


def _add_operators(
    amounts: dict[str, float],
    operators: Sequence[Operator],
    declared: Declared,
    entry: Device,
    *,
    share: float = 1.0,
) -> None:
    bandwidth = entry.memory_bandwidth.value
    for operator in operators:
        name = f"{WEIGHT_PASS}.{memory_kind(entry)}" if operator.weight_bytes else STATE_PASS
        peak = _peak(entry, declared, operator)
        by_memory, by_work = operator.bytes / bandwidth, operator.useful_flops / peak
        if by_memory >= by_work:
            _add(amounts, name, share * by_memory)
        else:
            _add(amounts, PRODUCTS, share * by_work)
        if declared.weights.label.startswith(UNPACKING) and operator.kind == "matmul":
            weights = operator.useful_flops / 2 / max(1, operator.rows)
            _add(amounts, DEQUANTIZE, share * weights)


def _peak(entry: Device, declared: Declared, operator: Operator) -> float:
    """The dense peak of the type that both operands have; attention runs in the model's own type."""
    wanted = declared.product_dtype if operator.kind == "matmul" else declared.model_dtype
    dtype = wanted if wanted in entry.peaks else declared.model_dtype
    return peak_flops_per_s(entry, dtype).value


def _add_messages(amounts: dict[str, float], model: LaidOut, *, rows: int, entry: Device) -> None:
    for message in model.messages(rows=rows):
        if message.account is Account.IN_DOMAIN:
            link = entry.links[0]
            name, rate = link.kind.value, link.one_way_bytes_per_s
        else:
            name, rate = "across", ACROSS_BYTES_PER_S
        _add(amounts, f"{ALPHA}.{name}", message.times)
        _add(amounts, f"{LINK_PASS}.{name}", message.bytes_per_step / rate)


def _add(amounts: dict[str, float], name: str, amount: float) -> None:
    amounts[name] = amounts.get(name, 0.0) + amount
