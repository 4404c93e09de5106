"""What a reader asks of a recorded stream: service levels, a window, tags; from their text forms."""

from assay.analysis.errors import BadRecord
from assay.analysis.quantities import NS_PER_S, duration_ns, instant_ns
from assay.analysis.rates import ServiceLevels
from assay.analysis.window import Window
from assay.analysis.wire.reasoning_tags import ReasoningTags

_LEVELS = ("ttft", "tpot", "e2e")


def service_levels(text: str) -> ServiceLevels:
    """``ttft=500ms,tpot=50ms,e2e=3s``: each at most once, each with its unit."""
    limits: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = part.strip().partition("=")
        if name not in _LEVELS or not equals or name in limits:
            raise BadRecord(
                field="--slo",
                seen=repr(part.strip()),
                allowed=f"{', '.join(_LEVELS)}, each once, as name=limit",
                remedy="Write for example ttft=500ms,tpot=50ms.",
            )
        limits[name] = duration_ns(value, field=f"--slo {name}") / NS_PER_S
    return ServiceLevels(
        ttft_s=limits.get("ttft"), tpot_s=limits.get("tpot"), e2e_s=limits.get("e2e")
    )


def window(text: str) -> Window:
    """``A:B``: instants of the input's clock, in ns or with a unit; A before B."""
    start, colon, end = text.partition(":")
    if not colon:
        raise BadRecord(
            field="--window",
            seen=repr(text),
            allowed="two instants as A:B",
            remedy="Write for example 0:5s, or both in ns.",
        )
    from_ns, to_ns = instant_ns(start, field="--window A"), instant_ns(end, field="--window B")
    if to_ns <= from_ns:
        raise BadRecord(
            field="--window",
            seen=text,
            allowed="A before B",
            remedy="Swap the two instants.",
        )
    return Window(from_ns=from_ns, to_ns=to_ns, chosen="asked for")


def reasoning_tags(text: str | None) -> ReasoningTags | None:
    """``<think>,</think>``; without the opening one, replies start inside their reasoning."""
    if text is None:
        return None
    opens, comma, closes = (part.strip() for part in text.partition(","))
    if not comma or not closes or opens == closes:
        raise BadRecord(
            field="--reasoning-tags",
            seen=repr(text),
            allowed="two different tags as OPEN,CLOSE, or ,CLOSE",
            remedy="Write for example '<think>,</think>'.",
        )
    return ReasoningTags.of(opens=opens, closes=closes)
