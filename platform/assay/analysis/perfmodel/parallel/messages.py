"""Messages between ranks in one step: kind, bytes, how often, and in which of three accounts.

Bytes inside a domain, bytes across domains and bytes of remote state are never added to one "network
traffic". Time of one synchronisation is alpha + M / B, times its frequency. M is what one rank moves: of
an all-reduce over n ranks 2 (n - 1) / n of the payload, of a gather or exchange (n - 1) / n. Sources:
chapter 3.5.2 and 3.5.3.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite

from assay.analysis.perfmodel.laws import latency_dominates, transfer_time_s
from assay.analysis.perfmodel.parallel.layout import refused


class MessageKind(StrEnum):
    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    ALL_TO_ALL = "all-to-all"
    SEND = "send"


class Account(StrEnum):
    """Where bytes go. Each account has a link of its own."""

    IN_DOMAIN = "in domain"
    ACROSS_DOMAINS = "across domains"
    REMOTE_STATE = "remote state"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """``payload_bytes`` of one synchronisation among ``ranks``, ``times`` a step."""

    what: str
    kind: MessageKind
    payload_bytes: int
    ranks: int
    times: float
    account: Account

    @property
    def moved_bytes(self) -> float:
        """Bytes that one rank sends in one synchronisation."""
        share = (self.ranks - 1) / self.ranks
        factor = {
            MessageKind.ALL_REDUCE: 2 * share,
            MessageKind.ALL_GATHER: share,
            MessageKind.ALL_TO_ALL: share,
            MessageKind.SEND: 1.0,
        }[self.kind]
        return self.payload_bytes * factor

    @property
    def bytes_per_step(self) -> float:
        return self.moved_bytes * self.times


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link's fixed time of one synchronisation and its sustained bandwidth in one direction, with
    sources."""

    alpha_s: float
    bytes_per_s: float
    source: str

    def __post_init__(self) -> None:
        known = isfinite(self.alpha_s) and isfinite(self.bytes_per_s)
        if not known or self.alpha_s < 0 or self.bytes_per_s <= 0:
            raise refused(
                "link",
                f"alpha {self.alpha_s} s, {self.bytes_per_s} byte/s",
                "alpha of at least 0 and a bandwidth above 0",
                "There is no default for a link: measure or look it up.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageTime:
    """One message with its time a step and whether the fixed part dominates; None without its link."""

    message: Message
    seconds: float | None
    dominant: str | None


def message_times(messages: Sequence[Message], links: Mapping[Account, Link]) -> list[MessageTime]:
    """alpha + M / B of each message times its frequency, over the link of its account."""
    return [_timed(message, links.get(message.account)) for message in messages]


def communication_s(timed: Sequence[MessageTime]) -> float | None:
    """Sum of all messages if none overlaps with compute; None while one of them has no link."""
    seconds = [each.seconds for each in timed]
    known = [value for value in seconds if value is not None]
    return sum(known) if len(known) == len(seconds) else None


def bytes_by_account(messages: Sequence[Message]) -> dict[Account, float]:
    """Bytes that one rank moves in a step, by account; they are not to be added up."""
    return {
        account: sum(m.bytes_per_step for m in messages if m.account is account)
        for account in Account
    }


def state_transfer(*, state_bytes: int, requests_per_step: float) -> Message:
    """State of finished prompts that moves from a prefill to a decode instance."""
    return Message(
        what="state of a prompt to another instance",
        kind=MessageKind.SEND,
        payload_bytes=state_bytes,
        ranks=2,
        times=requests_per_step,
        account=Account.REMOTE_STATE,
    )


def _timed(message: Message, link: Link | None) -> MessageTime:
    if link is None:
        return MessageTime(message=message, seconds=None, dominant=None)
    cost = {
        "alpha_s": link.alpha_s,
        "message_bytes": message.moved_bytes,
        "link_bytes_per_s": link.bytes_per_s,
    }
    return MessageTime(
        message=message,
        seconds=transfer_time_s(**cost) * message.times,
        dominant="latency" if latency_dominates(**cost) else "bandwidth",
    )
