"""From body bytes with arrival times to what a reply said, and when.

An event's time is that of the read that completed it. Content events are those with a non-empty answer,
reasoning, tool-call or refusal delta. Chunk boundaries are not token boundaries: tokens of a chunk come from
token ids, or from usage counts that grow with every content event, and are None otherwise.
"""

from collections.abc import Sequence
from typing import Any

from assay.analysis.wire import content
from assay.analysis.wire.alike import Alike
from assay.analysis.wire.content import Payload, error_payload
from assay.analysis.wire.declared import NOTHING_DECLARED, Declared
from assay.analysis.wire.dialects.choices import ChoicesReader
from assay.analysis.wire.dialects.table import DIALECTS, PayloadReader, recognised
from assay.analysis.wire.forms import known
from assay.analysis.wire.json_text import NotJson, is_json, read_json, whole_characters
from assay.analysis.wire.reasoning_tags import TaggedReader
from assay.analysis.wire.reply import Reply
from assay.analysis.wire.runs import MOST_READS, end_of_run, is_plain, one_each, run_of
from assay.analysis.wire.scoring import read_scored
from assay.analysis.wire.sse import EventStream, ServerSentEvent
from experiments.schema.workload import CallType

_DONE = b"[DONE]"
_SNIFF_SKIP = b"\xef\xbb\xbf \t\r\n"
_WORDS_LIMIT = 500


class ReplyReader(Reply):
    """Reads one reply body: ``read`` per arrival, ``end`` only if it ended cleanly, then ``settle``."""

    __slots__ = (
        "_alike",
        "_body",
        "_declared",
        "_events",
        "_head",
        "_reader",
        "_undecided",
    )

    def __init__(self, declared: Declared = NOTHING_DECLARED) -> None:
        super().__init__()
        self._declared = declared
        self._events: EventStream | None = None
        self._body: list[bytes] | None = None
        self._head = b""
        self._undecided: list[bytes] = []  # blanks before the first telling byte
        self._reader = self._tagged(ChoicesReader())  # until a dialect is declared or recognised
        self._alike = Alike(self)
        if declared.dialect is not None:
            self._speak(declared.dialect, "declared")

    def read(self, t_ns: int, data: bytes) -> None:
        """Take body bytes that arrived at ``t_ns``."""
        if not data:
            return
        self._arrived(t_ns, (data,))
        events = self._events
        if events is not None:
            template = self._alike.template
            if template is not None and not events.busy:
                like = template.of_read(data)
                if like is not None:
                    self._alike.take(t_ns, *like)
                    return
            if not events.busy and is_plain(data):
                run = run_of([t_ns], [data])
                data = data[run.size(self._alike.read_run(run, self._raw_event)) :]
            for event in events.feed(data):
                self._event(t_ns, event)
        elif self._body is not None:
            self._body.append(data)
        else:
            self._begin(t_ns, data)

    def read_many(self, times_ns: Sequence[int], reads: Sequence[bytes]) -> None:
        """Take consecutive reads, none of them empty: what ``read`` would take one by one."""
        place = 0
        while place < len(reads) and (self._events is None or self._events.busy):
            self.read(times_ns[place], reads[place])
            place += 1
        place += self._read_one_each(times_ns[place:], reads[place:])
        while place < len(reads):
            last = place + 1
            if self._events is not None and not self._events.busy:
                last = max(last, end_of_run(reads, place))
            if last - place > 1:
                self._read_plain(times_ns[place:last], reads[place:last])
            else:
                self.read(times_ns[place], reads[place])
            place = last

    def _read_one_each(self, times_ns: Sequence[int], reads: Sequence[bytes]) -> int:
        """Take reads of one event each, as far as that goes; returns how many."""
        place = 0
        while place < len(reads):
            stop = place + MOST_READS
            run = one_each(times_ns[place:stop], reads[place:stop])
            done = 0 if run is None else self._alike.read_run(run, self._raw_event)
            if run is None or not done:
                break
            self._arrived(run.times_ns[done - 1], run.events[:done])
            place += done
            if done < len(run.events):
                break
        return place

    def _read_plain(self, times_ns: Sequence[int], reads: Sequence[bytes]) -> None:
        run = run_of(times_ns, reads)
        done = self._alike.read_run(run, self._raw_event)
        if done < len(run.events):
            self._read_rest(times_ns, reads, run.size(done))
        self._arrived(times_ns[-1], reads)

    def _read_rest(self, times_ns: Sequence[int], reads: Sequence[bytes], done: int) -> None:
        """What a run did not take goes the way of single reads."""
        end = 0
        for t_ns, data in zip(times_ns, reads, strict=True):
            end += len(data)
            if end <= done:
                continue
            rest = data[-(end - done) :]
            for event in self._events.feed(rest):  # type: ignore[union-attr]  # the stream has begun
                self._event(t_ns, event)
            done = end

    def _raw_event(self, t_ns: int, raw: bytes) -> None:
        self._event(t_ns, ServerSentEvent(raw))

    def _arrived(self, t_ns: int, reads: Sequence[bytes]) -> None:
        self.body_bytes += sum(map(len, reads))
        self.last_read_ns = t_ns
        if len(self._head) < _WORDS_LIMIT:
            self._head += b"".join(reads[:_WORDS_LIMIT])[:_WORDS_LIMIT]

    def end(self) -> None:
        """The body ended cleanly: read a whole JSON reply, or an event that lacks its blank line.

        The standard drops such an event; here it is taken if its data are whole (``[DONE]`` or valid JSON),
        since a clean end shows that nothing more was coming.
        """
        t_ns = self.last_read_ns
        if t_ns is None:
            return
        if self._body is not None:
            self._whole(t_ns, b"".join(self._body))
        elif self._events is not None:
            event = self._events.pending()
            if event is not None and (event.raw.strip() == _DONE or is_json(event.raw)):
                self._event(t_ns, event)

    @property
    def call_type(self) -> CallType:
        """As declared; else what the reply shows, and a generation where it shows nothing else."""
        shown = self.scored.call_type if self.scored is not None else CallType.generation
        return self._declared.call_type or shown

    def settle(self) -> None:
        """Nothing more comes: what was held back is said, and usage that was each chunk's own counts them."""
        if isinstance(self._reader, TaggedReader):
            self._said.take(self._reader.rest())
        self._alike.settle()
        own = self._usage.per_chunk(len(self.chunk_times_ns))
        if own is not None and self.token_ids is None:
            self.chunk_tokens.replace_all(own)

    def error_body(self) -> str:
        """The server's words in the body of an HTTP error response."""
        if self.error_words is not None:
            return self.error_words
        try:
            document = read_json(b"".join(self._body or ()))
        except NotJson:
            return self._head[:_WORDS_LIMIT].decode("utf-8", "replace").strip()
        error = document.get("error") if isinstance(document, dict) else None
        return whole_characters(content.error_words(error if error else document))

    def _begin(self, t_ns: int, data: bytes) -> None:
        """One telling byte decides: a JSON reply, or an event stream."""
        start = data.lstrip(_SNIFF_SKIP)[:1]
        self._undecided.append(data)
        if not start:
            return
        held = b"".join(self._undecided)
        self._undecided = []
        if start in (b"{", b"["):
            self._body = [held]
            return
        self._events = EventStream()
        for event in self._events.feed(held):
            self._event(t_ns, event)

    def _event(self, t_ns: int, event: ServerSentEvent) -> None:
        raw = event.raw
        template = self._alike.template
        if template is not None and event.type != "error":
            like = template.of_event(raw)
            if like is not None:
                self._alike.take(t_ns, *like)
                return
        self.events += 1
        if len(raw) < 32 and raw.strip() == _DONE:
            self._count(content.TERMINAL)
            if self.done_marker_ns is None:
                self.done_marker_ns = t_ns
            return
        is_error = event.type == "error"
        if self._reader.deltas_stand_alone and not is_error and self._known(t_ns, raw):
            return
        try:
            document = read_json(raw)
        except NotJson:
            self._unreadable(t_ns, event)
            return
        payload = self._read_payload(document)
        if is_error and payload.error is None:
            payload.error = content.error_words(document)
        self._take(t_ns, payload)
        if not payload.classes & content.CONTENT and _has_choice(document):
            self.bare_choice_times_ns.append(t_ns)
        if payload.classes & content.CONTENT and not is_error and self._reader.deltas_stand_alone:
            self._alike.learn(raw, payload, shown=recognised(document))

    def _known(self, t_ns: int, raw: bytes) -> bool:
        """Take a payload of which another reply of the server had the form, if there is one."""
        found = known(raw, self.dialect)
        if found is None:
            return False
        said, payload, template = found
        if self.dialect is None and said.shown is not None:
            self._speak(said.shown, "recognised")
        self._take(t_ns, payload)
        self._alike.follow(template, payload)
        return True

    def _read_payload(self, document: Any) -> Payload:
        if not isinstance(document, dict):
            return Payload(classes=content.PROTOCOL)
        if self.dialect is None and (name := recognised(document)) is not None:
            self._speak(name, "recognised")
        return error_payload(document) or self._reader.read(document)

    def _speak(self, dialect: str, by: str) -> None:
        self.dialect, self.dialect_by = dialect, by
        self._reader = self._tagged(DIALECTS[dialect].reader())

    def _tagged(self, reader: PayloadReader) -> PayloadReader:
        tags = self._declared.reasoning_tags
        return reader if tags is None else TaggedReader(reader, tags)

    def _unreadable(self, t_ns: int, event: ServerSentEvent) -> None:
        if event.type == "error":
            words = event.data[:_WORDS_LIMIT]
            self._take(t_ns, Payload(classes=content.TERMINAL, error=words))
            return
        self._count(content.PROTOCOL)
        if event.raw.strip() and event.type in ("", "message") and self.problem is None:
            self.problem = f"event {self.events}: data is not JSON: {event.data[:80]!r}"

    def _whole(self, t_ns: int, raw: bytes) -> None:
        self.events += 1
        try:
            document = read_json(raw)
        except NotJson as error:
            self.problem = f"body is not JSON: {error}"
            return
        # SGLang answers several samples with a list of replies.
        for part in document if isinstance(document, list) and document else [document]:
            self.scored = self.scored or read_scored(part)
            self._take(t_ns, self._read_payload(part))

    def _take(self, t_ns: int, payload: Payload) -> None:
        self._count(payload.classes)
        if payload.token_ids is not None:
            self.token_ids = (self.token_ids or 0) + payload.token_ids
        if payload.prompt_token_ids is not None:
            self.prompt_ids = payload.prompt_token_ids
        has_content = bool(payload.classes & content.CONTENT)
        if payload.usage is not None:
            self._usage.take(payload.usage, with_content=has_content)
        if has_content:
            self._take_content(t_ns, payload)
        if payload.finish:
            self.finish |= {index: whole_characters(w) for index, w in payload.finish.items()}
            self.finish_words = self.finish_words or whole_characters(payload.finish_words or "")
            if self.finish_ns is None:
                self.finish_ns = t_ns
        if payload.ends and self.done_marker_ns is None:
            self.done_marker_ns = t_ns
        if payload.error is not None and self.error_ns is None:
            self.error_ns, self.error_words = t_ns, whole_characters(payload.error)
            self.error_type = payload.error_type

    def _take_content(self, t_ns: int, payload: Payload) -> None:
        if self.first_content_ns is None:
            self.first_content_ns = t_ns
        if payload.reasoning and self.first_reasoning_ns is None:
            self.first_reasoning_ns = t_ns
        if payload.answer and self.first_visible_ns is None:
            self.first_visible_ns = t_ns
        self._said.take(payload)
        self.chunk_tokens.append(self._tokens_of(payload))
        self.chunk_times_ns.append(t_ns)

    def _tokens_of(self, payload: Payload) -> int | None:
        """Tokens of a content event: its ids, else growth of usage since the content event before it."""
        grown = None
        if payload.usage is not None and payload.usage.completion is not None:
            event = len(self.chunk_times_ns)
            grown = self._usage.tokens_of_chunk(payload.usage.completion, event)
        return payload.token_ids if payload.token_ids is not None else grown

    def _count(self, classes: int) -> None:
        counts = self.class_counts
        counts[classes] = counts.get(classes, 0) + 1


def _has_choice(document: Any) -> bool:
    return isinstance(document, dict) and bool(document.get("choices"))
