"""What stays of the attempts of a run once their own rows are written: figures and instants, no text.

Aggregates, rates, windows, retries and tasks are over all attempts of a run; a run of any length must not
hold what its requests said. Attempts lie in columns, some hundred bytes each, and their content events on a
shelf; what is handed out is a view that reads like the attempt. Asking it for words is an AttributeError.
"""

from array import array
from collections.abc import Hashable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, cast, overload

from assay.analysis.compact import MISSING, Coded, Numbers, Texts
from assay.analysis.shelf import Column, HeldShelf, Shelf, copied
from assay.analysis.stretches import StretchColumns
from assay.analysis.wire.attempt import Attempt
from assay.analysis.wire.token_counts import TokenCounts

_IDS = ("attempt_id", "request_id", "task_id", "session_id", "model_call_id", "retry_of")
# Of an attempt, then of its reply; each is read as the attempt gives it.
_NUMBERS = (
    *("start_ns", "scheduled_ns", "created_ns", "connect_start_ns", "connected_ns", "sent_ns"),
    *("decided_ns", "done_ns", "body_end_ns", "gave_up_ns"),
    *("output_tokens", "prompt_tokens", "retokenized"),
)
_REPLY_NUMBERS = (
    *("first_content_ns", "first_reasoning_ns", "first_visible_ns", "last_content_ns"),
    *("last_read_ns", "error_ns", "body_bytes", "content_events", "counted_tokens"),
    *("token_ids", "usage_tokens", "prompt_tokens", "cached_tokens", "reasoning_tokens"),
)
_CODED = (
    *("clock_domain", "clock_error_ns"),
    *("segment", "case", "state", "failure", "status", "unscheduled"),
    *("connection_reused", "call_type", "headers"),
)
_REPLY_CODED = ("problem", "scored")


_READ = attrgetter(*_NUMBERS, *(f"reply.{name}" for name in _REPLY_NUMBERS))
_READ_CODED = attrgetter(*_CODED, *(f"reply.{name}" for name in _REPLY_CODED))
_READ_IDS = attrgetter(*(f"ids.{name}" for name in _IDS))


def _items(headers: dict[str, str]) -> Hashable:
    return tuple(headers.items())


class KeptAttempts(Sequence[Attempt]):
    """Attempts in the order in which they were taken."""

    def __init__(self, shelf: Shelf | None = None) -> None:
        shelf = shelf or HeldShelf()
        self.ids = {name: Texts() for name in _IDS}
        self.numbers = {name: Numbers() for name in _NUMBERS}
        self.reply_numbers = {name: Numbers() for name in _REPLY_NUMBERS}
        self.coded = {name: Coded(_items if name == "headers" else None) for name in _CODED}
        self.reply_coded = {name: Coded() for name in _REPLY_CODED}
        self.times, self.tokens, self.bare = (shelf.column("q") for _ in range(3))
        self.events, self.bare_choices = StretchColumns(), StretchColumns()

    def take(self, attempt: Attempt) -> None:
        """Enter one attempt that is read to its end."""
        reply = attempt.reply
        for texts, text in zip(self.ids.values(), _READ_IDS(attempt), strict=True):
            texts.append(text)
        numbers = (*self.numbers.values(), *self.reply_numbers.values())
        for column, number in zip(numbers, _READ(attempt), strict=True):
            column.stored.append(MISSING if number is None else number)
        codes = (*self.coded.values(), *self.reply_coded.values())
        for coded, value in zip(codes, _READ_CODED(attempt), strict=True):
            coded.append(value)
        self.events.append(len(self.times), len(reply.chunk_times_ns))
        self.bare_choices.append(len(self.bare), len(reply.bare_choice_times_ns))
        self.times.extend(reply.chunk_times_ns)
        self.tokens.extend(reply.chunk_tokens.values)
        self.bare.extend(reply.bare_choice_times_ns)

    def extend(self, other: "KeptAttempts") -> None:
        """Enter the attempts of another batch after one's own."""
        for name, texts in self.ids.items():
            texts.extend(other.ids[name])
        for name, numbers in self.numbers.items():
            numbers.extend(other.numbers[name])
        for name, numbers in self.reply_numbers.items():
            numbers.extend(other.reply_numbers[name])
        for name, coded in self.coded.items():
            coded.extend(other.coded[name])
        for name, coded in self.reply_coded.items():
            coded.extend(other.reply_coded[name])
        self.events.extend(other.events, moved=len(self.times))
        self.bare_choices.extend(other.bare_choices, moved=len(self.bare))
        copied(other.times, self.times)
        copied(other.tokens, self.tokens)
        copied(other.bare, self.bare)

    @classmethod
    def of(cls, attempts: Iterable[Attempt]) -> "KeptAttempts":
        made = cls()
        for attempt in attempts:
            made.take(attempt)
        return made

    def __len__(self) -> int:
        return len(self.events)

    def __iter__(self) -> Iterator[Attempt]:
        return (cast("Attempt", KeptAttempt(self, at)) for at in range(len(self)))

    @overload
    def __getitem__(self, at: int) -> Attempt: ...
    @overload
    def __getitem__(self, at: slice) -> list[Attempt]: ...
    def __getitem__(self, at: int | slice) -> Attempt | list[Attempt]:
        if isinstance(at, slice):
            return [self[n] for n in range(*at.indices(len(self)))]
        return cast("Attempt", KeptAttempt(self, range(len(self))[at]))


class _Column:
    """An attribute of a view: what the column of its name, in a group of columns, holds at its place."""

    __slots__ = ("_group", "_name")

    def __init__(self, group: str) -> None:
        self._group = group

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name


class _Text(_Column):
    __slots__ = ()

    def __get__(self, view: Any, owner: type) -> Any:
        return view.kept.ids[self._name][view.place]


class _Number(_Column):
    """Read a hundred times for each attempt of a run: straight from the array."""

    __slots__ = ()

    def __get__(self, view: Any, owner: type) -> Any:
        value = getattr(view.kept, self._group)[self._name].stored[view.place]
        return None if value == MISSING else value


class _Code(_Column):
    __slots__ = ()

    def __get__(self, view: Any, owner: type) -> Any:
        column = getattr(view.kept, self._group)[self._name]
        return column.values[column.codes[view.place]]


class _View:
    __slots__ = ("kept", "place")

    def __init__(self, kept: KeptAttempts, place: int) -> None:
        self.kept = kept
        self.place = place


class KeptIds(_View):
    """Reads like ``AttemptIds``."""

    __slots__ = ()
    attempt_id = _Text("ids")
    request_id = _Text("ids")
    task_id = _Text("ids")
    session_id = _Text("ids")
    model_call_id = _Text("ids")
    retry_of = _Text("ids")


class KeptAttempt(_View):
    """Reads like ``Attempt``. ``place`` is its number among those that were kept."""

    __slots__ = ()
    attempt_id = _Text("ids")
    start_ns = _Number("numbers")
    scheduled_ns = _Number("numbers")
    created_ns = _Number("numbers")
    connect_start_ns = _Number("numbers")
    connected_ns = _Number("numbers")
    sent_ns = _Number("numbers")
    decided_ns = _Number("numbers")
    done_ns = _Number("numbers")
    body_end_ns = _Number("numbers")
    gave_up_ns = _Number("numbers")
    output_tokens = _Number("numbers")
    prompt_tokens = _Number("numbers")
    retokenized = _Number("numbers")
    clock_domain = _Code("coded")
    clock_error_ns = _Code("coded")
    segment = _Code("coded")
    case = _Code("coded")
    state = _Code("coded")
    failure = _Code("coded")
    status = _Code("coded")
    unscheduled = _Code("coded")
    connection_reused = _Code("coded")
    call_type = _Code("coded")
    headers = _Code("coded")

    @property
    def ids(self) -> KeptIds:
        return KeptIds(self.kept, self.place)

    @property
    def reply(self) -> "KeptReply":
        return KeptReply(self.kept, self.place)


class KeptReply(_View):
    """Reads like the attempt's ``ReplyReader``."""

    __slots__ = ()
    first_content_ns = _Number("reply_numbers")
    first_reasoning_ns = _Number("reply_numbers")
    first_visible_ns = _Number("reply_numbers")
    last_content_ns = _Number("reply_numbers")
    last_read_ns = _Number("reply_numbers")
    error_ns = _Number("reply_numbers")
    body_bytes = _Number("reply_numbers")
    content_events = _Number("reply_numbers")
    counted_tokens = _Number("reply_numbers")
    token_ids = _Number("reply_numbers")
    usage_tokens = _Number("reply_numbers")
    prompt_tokens = _Number("reply_numbers")
    cached_tokens = _Number("reply_numbers")
    reasoning_tokens = _Number("reply_numbers")
    problem = _Code("reply_coded")
    scored = _Code("reply_coded")

    @property
    def chunk_times_ns(self) -> "array[int]":
        return self._numbers(self.kept.times, self.kept.events)

    @property
    def chunk_tokens(self) -> TokenCounts:
        return TokenCounts.of(self._numbers(self.kept.tokens, self.kept.events))

    @property
    def bare_choice_times_ns(self) -> "array[int]":
        return self._numbers(self.kept.bare, self.kept.bare_choices)

    def _numbers(self, column: Column, stretches: StretchColumns) -> "array[int]":
        return array("q", column.read(*stretches.of(self.place)).tobytes())


def place_of(attempt: Attempt) -> int:
    """The number of a kept attempt among all that were kept with it."""
    return cast("KeptAttempt", attempt).place
