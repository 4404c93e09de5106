"""How far another machine's clock is ahead of ours, by messages that went there and back. Pure.

Nothing but order is used: what we sent had not arrived before we sent it, and what came back had been sent
before it came. So for a round that left us at ``sent``, was stamped ``got`` and ``put`` there and was back at
``back``, the other clock's lead lies between ``put - back`` and ``got - sent``. Of several rounds the closest
bounds hold; of several exchanges all, because clocks drift meanwhile.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from runners.protocol.distant import DistantClock
from runners.protocol.documents import Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """``sent_ns`` and ``back_ns`` are of our clock, ``got_ns`` and ``put_ns`` of the other."""

    sent_ns: int
    got_ns: int
    put_ns: int
    back_ns: int


def exchange_of(rounds: Sequence[Round], *, when: str) -> Exchange:
    """The closest bounds of these rounds, which lie so near each other that no drift counts."""
    low_ns = max(r.put_ns - r.back_ns for r in rounds)
    high_ns = min(r.got_ns - r.sent_ns for r in rounds)
    return Exchange(
        when=when,
        rounds=len(rounds),
        low_ns=min(low_ns, high_ns),
        high_ns=max(low_ns, high_ns),
        at_ns=rounds[-1].back_ns,
    )


def clock_of(facts: dict[str, str], exchanges: Sequence[Exchange]) -> DistantClock:
    """``facts`` names the domain, its host, boot and time namespace."""
    return DistantClock(
        domain=facts["domain"],
        host=facts["host"],
        boot_id=facts["boot_id"],
        time_namespace=facts["time_namespace"],
        low_ns=min(e["low_ns"] for e in exchanges),
        high_ns=max(e["high_ns"] for e in exchanges),
        exchanges=list(exchanges),
    )
