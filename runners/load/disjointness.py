"""No two parts of a run share a prompt, nor the beginning of one that a prefix cache would find again.

Warm-up, cases, load and profile are the parts. What every prompt of a template begins with anyway is not
looked at, and neither are declared prefixes: those are what a study of caches declares.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runners.load.prompts import InputEncoder, from_content
from runners.protocol.errors import Finding, Refused

BLOCK_TOKENS = 16  # the smallest unit in which the engines here share a cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """``led_by`` tokens of the content are a declared prefix."""

    segment: str
    name: str
    ref: str
    token_ids: Sequence[int] | None
    led_by: int


def check(inputs: Iterable[Input], encoder: InputEncoder, *, endpoint: str) -> None:
    """Raises Refused naming the two parts and the request at which they meet."""
    head = common_head(encoder, endpoint=endpoint)
    owners: dict[tuple[str, object], Input] = {}
    for entry in inputs:
        keys: list[tuple[str, object]] = [("the same prompt", entry.ref)]
        start = head + entry.led_by
        if entry.token_ids is not None and len(entry.token_ids) > start:
            block = tuple(entry.token_ids[start : start + BLOCK_TOKENS])
            keys.append((f"the same {len(block)} tokens at its beginning", block))
        for what, key in keys:
            owner = owners.setdefault((what, key), entry)
            if owner.segment != entry.segment:
                raise Refused(
                    Finding(
                        field="workload.disjoint",
                        seen=f"{entry.segment} ({entry.name}) has {what} as {owner.segment} ({owner.name})",
                        allowed="prompts of which no two parts of a run have any in common",
                        remedy="Change workload.seed or the source, or declare workload.disjoint: none.",
                    )
                )


def common_head(encoder: InputEncoder, *, endpoint: str) -> int:
    """How many tokens all prompts of the template begin with, whatever is asked."""
    one, other = (
        from_content(text, endpoint=endpoint, encoder=encoder).token_ids for text in ("a", "7")
    )
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    return same
