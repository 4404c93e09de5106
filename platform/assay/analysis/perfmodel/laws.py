"""Closed formulas of the source text, each with its scope: intensities, crossings, shares, ceilings.

They are algebra on stated assumptions, good for checks and for talking about orders of magnitude. None is a
measured switch-over or a promise.
"""

from fractions import Fraction
from math import ceil

from assay.analysis.perfmodel.errors import ModelRefused
from runners.protocol.errors import Finding


def linear_flops(*, parameters: float, tokens: int) -> float:
    """2 P T: multiply-adds of all parameters on ``tokens`` tokens. Simplified: every parameter counts."""
    return 2 * parameters * tokens


def attention_flops_full_square(*, layers: int, tokens: int, d_model: int) -> float:
    """4 L S^2 d: executed work of the full square; the useful causal part is about half of it."""
    return 4 * layers * tokens**2 * d_model


def equal_length_tokens(*, parameters: float, layers: int, d_model: int) -> float:
    """S at which both are equal: 2 P / (4 L d). Algebraic threshold, not a measured bottleneck switch."""
    return 2 * parameters / (4 * layers * d_model)


def causal_pairs(*, reused: int, new: int) -> int:
    """Query-key pairs of ``new`` tokens after ``reused`` ones were taken from a cache: U H + U (U + 1) / 2.

    Saved pairs are no end-to-end gain: projections and feed-forward still run on every new token.
    """
    return new * reused + new * (new + 1) // 2


def gemm_flops(*, m: int, k: int, n: int) -> int:
    """2 M K N: one multiply-add is 2 FLOP."""
    return 2 * m * k * n


def gemm_bytes(*, m: int, k: int, n: int, element_bytes: float) -> float:
    """Ideal traffic: weights K N, input M K and output M N, each once."""
    return (k * n + m * k + m * n) * element_bytes


def ridge_rows_square(*, d: int, ridge: float) -> float:
    """M at which a square 2-byte GEMM reaches the ridge: I d / (d - 2 I), from I(M) = M d / (d + 2 M).

    Raises ModelRefused where no M reaches it (d <= 2 I).
    """
    if d <= 2 * ridge:
        raise ModelRefused(
            Finding(
                field="d",
                seen=str(d),
                allowed=f"more than {2 * ridge:g} (I(M) tends to d / 2)",
                remedy="No number of rows reaches this ridge.",
            )
        )
    return ridge * d / (d - 2 * ridge)


def ridge_rows_square_whole(*, d: int, ridge: float) -> int:
    """The smallest whole M of ``ridge_rows_square``."""
    return ceil(ridge_rows_square(d=d, ridge=ridge))


def weight_only_intensity(*, rows: int, weight_bytes: float) -> float:
    """2 B / b_w: intensity if only weights moved. An approximation that holds far below the ridge."""
    return 2 * rows / weight_bytes


def turning_rows(*, ridge: float, weight_bytes: float) -> float:
    """Rows at which the weight-only intensity meets the ridge: I b_w / 2. Not an optimal batch."""
    return ridge * weight_bytes / 2


def decode_bytes(
    *,
    weight_bytes: float,
    layers: int,
    batch: int,
    stored: int,
    kv_width: int,
    kv_element_bytes: int,
    activation_bytes: float,
) -> float:
    """D_w + 2 L B (T + 1) d_kv b_kv + D_a: old K/V read, new K/V written, unique elements once."""
    return (
        weight_bytes
        + 2 * layers * batch * (stored + 1) * kv_width * kv_element_bytes
        + activation_bytes
    )


def kv_crossover_tokens(
    *, weight_bytes: float, layers: int, batch: int, kv_width: int, kv_element_bytes: int
) -> float:
    """Context at which old-KV traffic equals weight traffic: D_w / (2 L B d_kv b_kv)."""
    return weight_bytes / (2 * layers * batch * kv_width * kv_element_bytes)


def attention_intensity(*, h: int, h_kv: int, kv_element_bytes: float) -> float:
    """2 h / (h_kv b_kv): decode attention if each K/V element is read once for all its query heads."""
    return 2 * h / (h_kv * kv_element_bytes)


def decode_rate_ceiling(
    *, batch: int, flops: float, bytes_moved: float, peak_flops_per_s: float, bandwidth: float
) -> float:
    """min(B C / F, B beta / D) in token/s: a ceiling under assumptions, no benchmark result."""
    return min(batch * peak_flops_per_s / flops, batch * bandwidth / bytes_moved)


def transfer_time_s(*, alpha_s: float, message_bytes: float, link_bytes_per_s: float) -> float:
    """alpha + M / B of one synchronisation; multiply by how often it happens."""
    return alpha_s + message_bytes / link_bytes_per_s


def latency_dominates(*, alpha_s: float, message_bytes: float, link_bytes_per_s: float) -> bool:
    """Whether the fixed part of a transfer is the larger one."""
    return alpha_s > message_bytes / link_bytes_per_s


def amdahl_speedup(*, exposed_share: float, factor: float) -> float:
    """1 / ((1 - p) + p / s), if stages exclude each other and the others do not change. An upper limit."""
    return 1 / ((1 - exposed_share) + exposed_share / factor)


def amdahl_latency_reduction(*, exposed_share: float, factor: float) -> float:
    """p (1 - 1 / s): the share of the time that goes away; another percentage than the speed gain."""
    return exposed_share * (1 - 1 / factor)


def relative_residual(*, predicted: float, measured: float) -> float:
    """(measured - predicted) / predicted."""
    return (measured - predicted) / predicted


def aggregate_rate(*, batch: int, step_s: float) -> float:
    """B / t: tokens a second of all sequences together; not what one of them sees."""
    return batch / step_s


def sequence_rate(*, step_s: float) -> float:
    """1 / t: tokens a second of one sequence."""
    return 1 / step_s


def untouched_share(*, experts: int, chosen: int | Fraction, tokens: int) -> float:
    """(1 - k / E)^B: chance that an expert is chosen by no token, if routing is independent and uniform."""
    return float(1 - chosen / experts) ** tokens


def expected_experts(*, experts: int, chosen: int | Fraction, tokens: int) -> float:
    """E (1 - (1 - k / E)^B): expected union of experts that one layer reads for B tokens of one step.

    Labelled *independent uniform routing*: real routing is skewed and touches fewer. Source: section 10.6.
    """
    return experts * (1 - untouched_share(experts=experts, chosen=chosen, tokens=tokens))
