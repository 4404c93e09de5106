"""Which patterns a micro-benchmark consists of, in groups that can be asked for.

``model`` is what forecasts rest on: the matrices, state and launches of one model's shapes. ``stream`` is
bandwidth by access pattern at each memory level, ``gemm`` single products by shape, ``launch`` one op.
"""

from collections.abc import Callable, Iterator

from runners.evidence import benchmark_launches as launches
from runners.evidence import benchmark_patterns as patterns
from runners.evidence.benchmark_device import Measured, require_torch
from runners.evidence.benchmark_products import product_patterns
from runners.evidence.benchmark_streams import stream_patterns
from runners.protocol import host

Take = Callable[[patterns.Pattern, float], None]  # the pattern, and its weight in the group's time
GROUPS = ("model", "stream", "gemm", "launch")
ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 256)
REDUCED_ROWS = (1, 8, 256)  # for the second dtype
CACHE_BYTES = 64 * 2**20
BEYOND_CACHES = 2.5  # times the last cache level
LAUNCHES = 1000  # back to back


def take_group(
    group: str,
    shape: patterns.Shapes,
    *,
    device: Measured,
    working_set_bytes: int | None,
    take: Take,
) -> None:
    """Make and take every pattern of a group; large buffers live no longer than they are needed."""
    if group == "model":
        _take_matrices(shape, device=device, working_set_bytes=working_set_bytes, take=take)
        _take_states_and_launches(shape, take=take)
    elif group == "stream":
        for label, size in stream_sizes(device.caches, limit=device.limit_bytes):
            for pattern in stream_patterns(shape, working_set_bytes=size, label=label):
                take(pattern, 1.0)
    elif group == "gemm":
        for make in product_patterns(shape, dtypes=device.dtypes):
            take(make(), 1.0)
    else:
        for timed in (patterns.EXECUTION, patterns.SUBMISSION):
            take(launches.kernel_launch_pattern(timed=timed, repeats=LAUNCHES), 1.0)


def stream_sizes(caches: list[host.CacheLevel], *, limit: int) -> Iterator[tuple[str, int]]:
    """(label, bytes): half of each cache from the second level on, and well beyond the last one."""
    for cache in sorted(caches, key=lambda c: c["level"]):
        if cache["level"] > 1:
            yield f"l{cache['level']}", min(cache["bytes"] * cache["instances"] // 2, limit)
    yield "memory", beyond_caches_bytes(caches, limit=limit, at_least=CACHE_BYTES)


def beyond_caches_bytes(caches: list[host.CacheLevel], *, limit: int, at_least: int) -> int:
    last = max((c["bytes"] * c["instances"] for c in caches), default=0)
    return min(max(int(BEYOND_CACHES * last), at_least), limit)


def layers_within(total_bytes: int, *, layers: int, limit: int) -> int:
    """How many layers' matrices fit the buffer limit; at least one."""
    return max(1, min(layers, layers * limit // max(1, total_bytes)))


def _take_matrices(
    shape: patterns.Shapes, *, device: Measured, working_set_bytes: int | None, take: Take
) -> None:
    torch = require_torch()
    limit = device.limit_bytes
    layers = layers_within(shape.elements() * 4, layers=shape.layers, limit=limit)
    weights = patterns.Weights(shape, torch.float32, layers=layers)
    wanted = min(working_set_bytes or weights.bytes, limit)
    buffer = weights.buffer[: wanted // 4] if wanted <= weights.bytes else torch.rand(wanted // 4)
    for pattern in patterns.read_patterns(buffer, label="working_set", columns=shape.d_ff):
        take(pattern, 2.0)
    small = weights.buffer[: min(CACHE_BYTES, weights.bytes) // 4]
    for pattern in patterns.read_patterns(small, label="cache", columns=shape.d_ff):
        take(pattern, 1.0)
    for rows in ROWS:
        take(patterns.matmul_pattern(weights, rows=rows), 2.0)
    half = patterns.Weights(shape, torch.bfloat16, layers=layers)
    del buffer, small, weights
    for rows in REDUCED_ROWS:
        take(patterns.matmul_pattern(half, rows=rows), 1.0)
    del half
    beyond = torch.full(
        (beyond_caches_bytes(device.caches, limit=limit, at_least=wanted) // 4,), 0.5
    )
    for pattern in patterns.read_patterns(beyond, label="beyond_caches", columns=shape.d_ff):
        take(pattern, 1.0)


def _take_states_and_launches(shape: patterns.Shapes, *, take: Take) -> None:
    for batch, context in ((1, 128), (1, 1024), (4, 512)):
        take(patterns.state_pattern(shape, batch=batch, context=context), 1.0)
    for tokens in (64, 256):
        take(patterns.prefill_attention_pattern(shape, tokens=tokens), 0.5)
    take(patterns.gather_pattern(shape, context=512), 0.5)
    take(launches.launch_pattern(shape, repeats=100), 0.5)
    take(launches.view_pattern(shape, repeats=300), 0.5)
    layer_launch = launches.layer_launch_pattern(layers=shape.layers)
    if layer_launch is not None:  # else the document has no such entry: absent, not zero
        take(layer_launch, 1.5)
