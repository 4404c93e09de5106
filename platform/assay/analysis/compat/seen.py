"""What each public client would have kept of attempts of ours: four readings of the same recorded streams.

Only attempts whose wire bytes were read can be read again this way. Each tool is given what it looks at:
which events it takes for tokens, where its latency ends, what it calls a success, where it takes token
counts from.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.columns import kept_some
from assay.analysis.compat.rows import UNKNOWN, Instants, Mask, Samples, ToolRows
from assay.analysis.kept import KeptAttempts
from assay.analysis.quantities import NS_PER_S
from assay.analysis.shelf import HeldShelf, Shelf
from assay.analysis.stretches import Stretches, blocks, gathered
from assay.analysis.wire.attempt import Attempt


@dataclass(frozen=True, slots=True)
class Recorded:
    """Attempts of ours with what came back, if anything did, byte for byte; ``places`` among those kept."""

    kept: KeptAttempts
    places: Instants
    shelf: Shelf

    def number(self, name: str) -> tuple[Instants, Mask]:
        """A number of each attempt, and of which it is known."""
        return self.kept.numbers[name].known(self.places)

    def reply_number(self, name: str) -> tuple[Instants, Mask]:
        return self.kept.reply_numbers[name].known(self.places)

    def tokens(self, name: str) -> Instants:
        counts, known = self.reply_number(name)
        return np.where(known, counts, UNKNOWN)


def recorded_of(attempts: Sequence[Attempt], shelf: Shelf | None = None) -> Recorded | None:
    """Those of these (kept) attempts that were read; None without a byte of any."""
    if not len(attempts):
        return None
    some = kept_some(attempts)
    kept, places = some.kept, some.places
    started = kept.numbers["start_ns"].known(places)[1]
    received = kept.reply_numbers["body_bytes"].known(places)[0] > 0
    silent = kept.events.at(places).counts == 0
    if not received.any():
        return None
    return Recorded(kept, places[started & (received | silent)], shelf or HeldShelf())


def by_vllm_bench(seen: Recorded) -> ToolRows:
    """Every event with a choice is a token instant; a clean end after one of them is a success."""
    instants = _WithBareChoices(seen)
    usage, retokenized = seen.tokens("usage_tokens"), seen.number("retokenized")
    again = np.where(retokenized[1], retokenized[0], UNKNOWN)
    return _rows(
        seen,
        instants,
        ok=_clean(seen) & (instants.counts() > 0),
        prompt_tokens=seen.tokens("prompt_tokens"),
        output_tokens=np.where(usage == UNKNOWN, again, usage),
    )


def by_sglang_bench(seen: Recorded) -> ToolRows:
    """Events with text; latency to ``[DONE]``, else to the end of the body; a clean end is a success.

    It counts the prompt itself before the chat template is applied: no count of ours is that one.
    """
    return _rows(
        seen,
        _Content(seen),
        ok=_clean(seen),
        end_ns=seen.number("done_ns"),
        prompt_tokens=np.full(len(seen.places), UNKNOWN),
        output_tokens=seen.tokens("usage_tokens"),
    )


def by_aiperf(seen: Recorded) -> ToolRows:
    """Events with content; latency to the last one; an error event, or no content, is an error.

    Token counts are the server's, as with ``--use-server-token-count``.
    """
    instants = _Content(seen)
    failed = seen.reply_number("error_ns")[1]
    return _rows(
        seen,
        instants,
        ok=_clean(seen) & ~failed & (instants.counts() > 0),
        prompt_tokens=seen.tokens("prompt_tokens"),
        output_tokens=seen.tokens("usage_tokens"),
    )


def by_guidellm(seen: Recorded) -> ToolRows:
    """Events with text; latency until it stopped reading, at ``[DONE]``; no text is an error."""
    instants = _Content(seen)
    return _rows(
        seen,
        instants,
        ok=_clean(seen) & (instants.counts() > 0),
        end_ns=seen.number("done_ns"),
        prompt_tokens=seen.tokens("prompt_tokens"),
        output_tokens=seen.tokens("usage_tokens"),
    )


class _Content:
    """Instants of the events with content."""

    def __init__(self, seen: Recorded) -> None:
        self._kept = seen.kept
        self._places = seen.places

    def counts(self) -> Instants:
        return self._kept.events.at(self._places).counts

    def read(self, places: Instants) -> Iterator[tuple[Instants, Instants]]:
        """(instants of some attempts, one's after the other's; how many of each), place by place."""
        where = self._kept.events.at(places)
        for first, last in blocks(where.counts):
            part = where.part(first, last)
            yield gathered(self._kept.times, part), part.counts


class _WithBareChoices(_Content):
    """Those, and the instants of events with a choice that holds nothing."""

    def counts(self) -> Instants:
        return super().counts() + self._kept.bare_choices.at(self._places).counts

    def read(self, places: Instants) -> Iterator[tuple[Instants, Instants]]:
        content, bare = self._kept.events.at(places), self._kept.bare_choices.at(places)
        for first, last in blocks(content.counts + bare.counts):
            parts = content.part(first, last), bare.part(first, last)
            times = [
                gathered(self._kept.times, parts[0]),
                gathered(self._kept.bare, parts[1]),
            ]
            yield _merged(times, parts)


def _merged(
    times: Sequence[Instants], parts: tuple[Stretches, Stretches]
) -> tuple[Instants, Instants]:
    """Two sets of instants as one, each attempt's in order of time."""
    owners = [np.repeat(np.arange(len(part.counts)), part.counts) for part in parts]
    both, owner = np.concatenate(times), np.concatenate(owners)
    return both[np.lexsort((both, owner))], parts[0].counts + parts[1].counts


def _rows(
    seen: Recorded,
    instants: _Content,
    *,
    ok: Mask,
    prompt_tokens: Instants,
    output_tokens: Instants,
    end_ns: tuple[Instants, Mask] | None = None,
) -> ToolRows:
    sent, was_sent = seen.number("sent_ns")
    start = np.where(was_sent, sent, seen.number("start_ns")[0])
    timed = instants.counts() > 0
    first, last = _ends(instants, seen.places)
    stop = np.where(timed, last, start)
    if end_ns is not None:
        stop = np.where(end_ns[1], end_ns[0], stop)
    return ToolRows(
        ok=ok & was_sent,
        timed=timed,
        start_ns=start,
        first_ns=first,
        last_ns=last,
        stop_ns=stop,
        events=instants.counts(),
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        gaps_of=lambda places: _gaps(instants, places),
        numbers=seen.places,
        shelf=seen.shelf,
    )


def _ends(instants: _Content, places: Instants) -> tuple[Instants, Instants]:
    """First and last instant of each attempt; 0 where there is none."""
    first, last = np.zeros((2, len(places)), dtype=np.int64)
    begun = 0
    for times, counts in instants.read(places):
        some = np.flatnonzero(counts)
        ends = np.cumsum(counts[some])
        first[begun + some] = times[ends - counts[some]]
        last[begun + some] = times[ends - 1]
        begun += len(counts)
    return first, last


def _gaps(instants: _Content, places: Instants) -> Iterator[Samples]:
    """Times between consecutive instants of one and the same attempt, in s."""
    for times, counts in instants.read(places):
        within = np.ones(max(0, len(times) - 1), dtype=bool)
        borders = np.cumsum(counts[counts > 0])[:-1] - 1
        within[borders] = False
        yield np.diff(times)[within] / NS_PER_S


def _clean(seen: Recorded) -> Mask:
    """HTTP 200 and a body that was read to its end, with no exception on the way."""
    end, ended = seen.number("body_end_ns")
    gave_up, is_given_up = seen.number("gave_up_ns")
    coded, reply_coded = seen.kept.coded, seen.kept.reply_coded
    answered: Mask = coded["status"].where(lambda status: status in (None, 200))[seen.places]
    readable: Mask = reply_coded["problem"].where(lambda problem: problem is None)[seen.places]
    return answered & ended & (~is_given_up | (end <= gave_up)) & readable
