"""Events like one that was read in full: they say the same but for their text and their token ids."""

from collections.abc import Callable, Sequence

from assay.analysis.wire import content
from assay.analysis.wire.content import Payload
from assay.analysis.wire.reply import Reply
from assay.analysis.wire.runs import Run
from assay.analysis.wire.template import DeltaTemplate, Likes, template_of

_ALONE = (content.ANSWER, content.REASONING)  # classes of a payload that may become a template
# How many bytes are looked at together: few after a template of a new form, which may serve a single event.
_FIRST, _GROWTH, _MOST = 1 << 11, 8, 1 << 16
_LOOKS = 4  # so many times all bytes of a run may be looked at for events that are alike
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

    def learn(self, raw: bytes, payload: Payload, *, stands_alone: bool) -> None:
        """Keep the payload as the template of those that follow, unless templates have seldom served."""
        texts = payload.answer or payload.reasoning or {}
        if (
            not stands_alone
            or payload.classes not in _ALONE
            or len(texts) != 1
            or payload.usage is not None
            or payload.prompt_token_ids is not None
            or self._learned > 32 + self._reply.events // 4
        ):
            return
        self._learned += 1
        made = template_of(raw, next(iter(texts.values())), payload.token_ids)
        if made is not None:
            self.settle()
            self.template, self._classes = made, payload.classes
            self._window = _MOST if made.has_served else _FIRST
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
        """Take whole events up to one of another form than a line of data; returns how many bytes.

        Those that are not alike go to ``other``, time and payload, which may learn from them.
        """
        data, times = run.data, run.times_ns
        place = number = looked_at = 0
        while place < len(data):
            if looked_at <= _LOOKS * (place + _MOST):
                looked_at += min(len(data) - place, self._window)
                size, count = self._take_alike(run, place, number, other)
                if count:
                    place, number = place + size, number + count
                    continue
            end = data.find(b"\n\n", place)
            block = data[place:end]
            if block[:6] != b"data: " or b"\n" in block:
                break
            other(times[number], block[6:])
            place, number = end + 2, number + 1
        return place

    def _take_alike(self, run: Run, start: int, number: int, other: Other) -> tuple[int, int]:
        """Events of a run from a place on, the first of which has this number, as far as they are alike.

        Returns how many bytes and how many events were taken; none, if the run does not begin with such.
        """
        template = self.template
        if template is None:
            return 0, 0
        likes = template.of_run(run.data, start, start + self._window)
        if likes is None:
            return 0, 0
        taken = 0
        self._window = min(_MOST, _GROWTH * self._window)
        unlike = [n for n, text in enumerate(likes.texts) if not text] if b"" in likes.texts else []
        for end in [*unlike, len(likes.texts)]:
            self._take_many(run.times_ns[number + taken : number + end], likes, taken, end)
            taken = end
            if end == len(likes.texts):
                break
            other(run.times_ns[number + end], likes.raw(end))
            taken += 1
            if self.template is not template:
                break
        return likes.size(taken), taken

    def _take_many(self, times_ns: Sequence[int], likes: Likes, first: int, last: int) -> None:
        n = last - first
        if not n:
            return
        reply = self._reply
        reply.events += n
        self._count += n
        reply.chunk_times_ns.extend(times_ns)
        if likes.ids is None:
            reply.chunk_tokens.extend_unknown(n)
        else:
            ids = likes.ids[first:last]
            reply.token_ids += sum(ids)  # type: ignore[operator]  # as above
            reply.chunk_tokens.values.extend(ids)
        self._write(b"".join(likes.texts[first:last]).decode())

    def settle(self) -> None:
        """Enter the classes of the payloads that were read by the template."""
        if self._count:
            counts = self._reply.class_counts
            counts[self._classes] = counts.get(self._classes, 0) + self._count
            self._count = 0


def _nowhere(text: str) -> None:
    """Takes the words of a template's payload while there is no template."""
