"""Feed-forward of every layer: dense, or experts in the ways configurations declare them.

Each function reads one family's fields and returns one feed-forward a layer.
"""

from assay.analysis.perfmodel.feed_forward.feed_forward import (
    DenseFeedForward,
    Experts,
    FeedForward,
)
from assay.analysis.perfmodel.reading.fields import Fields


def dense(fields: Fields, layers: int) -> list[FeedForward]:
    """One width for all layers, or a list of them."""
    bias = fields.flag("mlp_bias")
    widths = fields.per_layer("intermediate_size", layers=layers)
    return [DenseFeedForward(width=width, bias=bias) for width in widths]


def local_experts(fields: Fields, layers: int) -> list[FeedForward]:
    """``num_local_experts`` of width ``intermediate_size`` in every layer (Mixtral, PhiMoE, MiniMax)."""
    fields.without_effect(("shared_moe_mode", "mlp_intermediate_size"))
    shared = fields.amount("shared_intermediate_size")
    experts = Experts(
        experts=fields.count("num_local_experts"),
        chosen=fields.count("num_experts_per_tok"),
        width=fields.count("intermediate_size"),
        shared_width=shared,
        router_bias=fields.flag("use_routing_bias"),
        module="block_sparse_moe",
    )
    return [experts] * layers


def biased_experts(fields: Fields, layers: int) -> list[FeedForward]:
    """Experts and router with biases, gate and up in one matrix (gpt-oss)."""
    experts = Experts(
        experts=fields.count("num_local_experts"),
        chosen=fields.count("num_experts_per_tok", "experts_per_token"),
        width=fields.count("intermediate_size"),
        bias=True,
        router_bias=True,
        router="router",
    )
    return [experts] * layers


def sparse_steps(fields: Fields, layers: int) -> list[FeedForward]:
    """Experts in every ``decoder_sparse_step``-th layer but the listed dense ones (Qwen)."""
    shared = fields.amount("shared_expert_intermediate_size")
    experts = Experts(
        experts=fields.count("num_experts"),
        chosen=fields.count("num_experts_per_tok"),
        width=fields.count("moe_intermediate_size"),
        shared_width=shared,
        shared_gate=bool(shared),
        shared="shared_expert",
    )
    step, only_dense = (
        fields.count("decoder_sparse_step", default=1),
        fields.whole_numbers("mlp_only_layers"),
    )
    sparse = [(i + 1) % step == 0 and i not in (only_dense or []) for i in range(layers)]
    if all(sparse):
        fields.without_effect(("intermediate_size",))
        return [experts] * layers
    plain = DenseFeedForward(width=fields.count("intermediate_size"))
    return [experts if each else plain for each in sparse]


def dense_first(fields: Fields, layers: int) -> list[FeedForward]:
    """Routed and shared experts behind some dense layers (DeepSeek, Kimi, GLM)."""
    if not fields.has("n_routed_experts"):
        return dense(fields, layers)
    width = fields.count("moe_intermediate_size")
    method = fields.value("topk_method")
    experts = Experts(
        experts=fields.count("n_routed_experts"),
        chosen=fields.count("num_experts_per_tok"),
        width=width,
        shared_width=width * fields.amount("n_shared_experts"),
        router_bias=method in (None, "noaux_tc"),
    )
    plain = DenseFeedForward(width=fields.count("intermediate_size"))
    return [experts if each else plain for each in sparse_layers(fields, layers)]


def sparse_layers(fields: Fields, layers: int) -> list[bool]:
    """Which layers have experts: a list (0 or 1, or names), else all from the first on at a step."""
    named, step = fields.words("mlp_layer_types"), fields.value("moe_layer_freq")
    listed = [kind == "sparse" for kind in named] if named else step
    if isinstance(listed, list):
        if len(listed) != layers:
            raise fields.refused(
                "moe_layer_freq", f"{len(listed)} entries", f"{layers}, one a layer"
            )
        return [bool(each) for each in listed]
    first, step = fields.amount("first_k_dense_replace"), fields.count("moe_layer_freq", default=1)
    return [i >= first and i % step == 0 for i in range(layers)]


def interleaved(fields: Fields, layers: int) -> list[FeedForward]:
    """Experts and one shared expert in every n-th layer, wider dense ones between (Llama 4)."""
    width, step = fields.count("intermediate_size"), fields.count("interleave_moe_layer_step")
    experts = Experts(
        experts=fields.count("num_local_experts"),
        chosen=fields.count("num_experts_per_tok"),
        width=width,
        shared_width=width,
        module="feed_forward",
        router="router",
        shared="shared_expert",
    )
    listed = fields.whole_numbers("moe_layers") or list(range(step - 1, layers, step))
    plain = DenseFeedForward(width=fields.count("intermediate_size_mlp"), module="feed_forward")
    return [experts if i in listed else plain for i in range(layers)]
