"""Events like one that was read in full: they say the same but for their text and their token ids."""

from collections.abc import Callable, Sequence

from assay.analysis.wire import content
from assay.analysis.wire.content import Payload
from assay.analysis.wire.forms import Said, template_of
from assay.analysis.wire.reply import Reply
from assay.analysis.wire.runs import Run
from assay.analysis.wire.template import DeltaTemplate, Likes

_ALONE = (content.ANSWER, content.REASONING)  # classes of a payload that may become a template
_LAST = tuple(classes | content.TERMINAL for classes in _ALONE)  # of one that may be known again
# How many events are looked at together: few after a template of a new form, which may serve a single one.
_FIRST, _GROWTH, _MOST = 8, 4, 1 << 12
Other = Callable[[int, bytes], None]


class Alike:
    """Enters such events into their reply. What is learned from one event serves those after it."""

    __slots__ = ("_classes", "_count", "_learned", "_reply", "_window", "_write", "template")

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self.template: DeltaTemplate | None = None
        self._classes = content.PROTOCOL  # of the template's payload
        self._count = 0  # payloads that were read by the template
        self._write: Callable[[str], object] = _nowhere
        self._learned = 0
        self._window = _FIRST

    def learn(self, raw: bytes, payload: Payload, *, shown: str | None) -> None:
        """Keep the payload as the template of those that follow, unless templates have seldom served.

        For payloads that stand alone. ``shown`` is the dialect that this one shows.
        """
        texts = payload.answer or payload.reasoning or {}
        if (
            payload.classes not in (*_ALONE, *_LAST)
            or len(texts) != 1
            or payload.usage is not None
            or payload.prompt_token_ids is not None
            or self._learned > 32 + self._reply.events // 4
        ):
            return
        self._learned += 1
        said = Said(payload=payload, dialect=self._reply.dialect, shown=shown)
        made = template_of(raw, next(iter(texts.values())), payload.token_ids, said)
        if made is not None:
            self.follow(made, payload)

    def follow(self, template: DeltaTemplate, payload: Payload) -> None:
        """Take what comes by this template; the payload, which has it, was taken already."""
        if payload.classes not in _ALONE:
            return
        self.settle()
        self.template, self._classes = template, payload.classes
        self._window = _MOST if template.has_served else _FIRST
        self._write = self._reply.writer(payload)

    def take(self, t_ns: int, text: str, ids: int | None) -> None:
        """A payload like the template's, but for its text and ids.

        That one was content before this one, so the first instants and the first count of ids are there.
        """
        reply = self._reply
        reply.events += 1
        self._count += 1
        reply.chunk_times_ns.append(t_ns)
        if ids is None:
            reply.chunk_tokens.append(None)
        else:
            reply.token_ids += ids  # type: ignore[operator]  # the template's payload had ids
            reply.chunk_tokens.values.append(ids)
        self._write(text)

    def read_run(self, run: Run, other: Other) -> int:
        """Take events up to one of another form than a line of data; returns how many.

        Those that are not alike go to ``other``, time and payload, which may learn from them.
        """
        place = 0
        while place < len(run.events):
            taken = self._take_alike(run, place)
            if not taken:
                event = run.events[place]
                if event[:6] != b"data: " or event.find(b"\n") != len(event) - 2:
                    break
                other(run.times_ns[place], event[6:-2])
                taken = 1
            place += taken
        return place

    def _take_alike(self, run: Run, start: int) -> int:
        """Take events of a run from a place on, as far as they are alike; returns how many.

        The next look is not much longer than this one reached, so that all of them together are short.
        """
        if self.template is None:
            return 0
        stop = start + self._window
        likes = self.template.of_run(run.events[start:stop])
        taken = likes.count
        self._window = min(_MOST, max(_FIRST, _GROWTH * taken))
        if taken:
            self._take_many(run.times_ns[start : start + taken], likes)
        return taken

    def _take_many(self, times_ns: Sequence[int], likes: Likes) -> None:
        reply = self._reply
        reply.events += likes.count
        self._count += likes.count
        reply.chunk_times_ns.extend(times_ns)
        if likes.ids is None:
            reply.chunk_tokens.extend_unknown(likes.count)
        else:
            reply.token_ids += sum(likes.ids)  # type: ignore[operator]  # as above
            reply.chunk_tokens.values.extend(likes.ids)
        self._write(likes.text)

    def settle(self) -> None:
        """Enter the classes of the payloads that were read by the template."""
        if self._count:
            counts = self._reply.class_counts
            counts[self._classes] = counts.get(self._classes, 0) + self._count
            self._count = 0


def _nowhere(text: str) -> None:
    """Takes the words of a template's payload while there is no template."""
