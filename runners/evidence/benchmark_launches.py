"""What launching costs: one op, a layer's ops, an op that moves nothing, on tensors too small to matter."""

from __future__ import annotations

from runners.evidence.benchmark_patterns import Pattern, Shapes


def layer_launch_pattern(*, layers: int) -> Pattern | None:
    """One decode step of transformers' llama with matrices of almost no size: what a layer costs to launch.

    None when transformers is not installed. Per layer it calls every op and module of the real block,
    on tensors too small to matter.
    """
    import torch

    try:
        from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM
    except ImportError:
        return None
    config = LlamaConfig(
        hidden_size=18,
        intermediate_size=32,
        num_hidden_layers=layers,
        num_attention_heads=9,
        num_key_value_heads=3,
        vocab_size=32,
        max_position_embeddings=512,
    )
    model = LlamaForCausalLM(config)
    model.train(False)
    cache = DynamicCache(config=config)
    token = torch.zeros(1, 1, dtype=torch.long)

    def run() -> None:
        # The cache grows by one token a call, as in decode; at these widths it stays negligible.
        model(input_ids=token, cache=cache, use_cache=True)

    return Pattern(
        name="layer_launch",
        pattern="transformers llama step, one token, widths of 18 and 32",
        dtype="float32",
        conditions={"layers": layers, "rows": 1},
        run=run,
        working_set_bytes=sum(p.numel() for p in model.parameters()) * 4,
        calls=layers,
    )


def launch_pattern(shapes: Shapes, *, repeats: int) -> Pattern:
    """Small dependent element-wise ops on one row, as between the matrices of a layer: cost per op."""
    import torch
    from torch.nn import functional

    row = torch.rand(1, shapes.d_model)

    def run() -> None:
        value = row
        for _ in range(repeats):
            scale = torch.rsqrt(value.pow(2).mean(-1, keepdim=True) + 1e-5)
            value = functional.silu(value * scale) + row

    return Pattern(
        name="op_launch",
        pattern="pow, mean, add, rsqrt, mul, silu, add on one row",
        dtype="float32",
        conditions={"width": shapes.d_model, "rows": 1},
        run=run,
        working_set_bytes=row.numel() * 4,
        calls=7 * repeats,
    )


def kernel_launch_pattern(*, timed: str, repeats: int) -> Pattern:
    """One op on one element, again and again: what a launch costs the device, or the host that submits it."""
    import torch

    value = torch.zeros(1)

    def run() -> None:
        for _ in range(repeats):
            value.add_(1.0)

    return Pattern(
        name=f"kernel_launch.{timed}",
        pattern="add on one element",
        dtype="float32",
        conditions={"back_to_back": repeats},
        run=run,
        working_set_bytes=4,
        calls=repeats,
        timed=timed,
    )


def view_pattern(shapes: Shapes, *, repeats: int) -> Pattern:
    """Ops that move no data (view, transpose): dispatch cost alone."""
    import torch

    row = torch.rand(1, shapes.heads * shapes.d_head)

    def run() -> None:
        for _ in range(repeats):
            row.view(1, 1, shapes.heads, shapes.d_head).transpose(1, 2)

    return Pattern(
        name="view_launch",
        pattern="view, transpose",
        dtype="float32",
        conditions={"rows": 1},
        run=run,
        working_set_bytes=row.numel() * 4,
        calls=2 * repeats,
    )
