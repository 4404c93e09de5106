"""A raw HTTP/1.x response, incrementally: body pieces as they became readable, and how the body ended.

Framing is httptools' (llhttp): content-length, chunked, or until the connection closes. Informational
(1xx) responses are passed over. Bytes after a complete response are counted as surplus, never parsed.
"""

from collections.abc import Sequence

import httptools

from assay.analysis.wire.encoding import BodyDecoder

_NOBODYS = httptools.HttpResponseParser(object())


class ResponseParser:
    """A push parser for one response.

    ``complete`` is true once the framing itself said that the body is over; a body without length ends
    only with the connection (``until_close``). ``problem`` holds the parser's words when framing broke,
    ``decoder`` undoes a content encoding (None without one).
    """

    __slots__ = (
        "_body",
        "_framed",
        "_parser",
        "_whole",
        "complete",
        "decoder",
        "encoding",
        "headers",
        "on_body",
        "problem",
        "status",
        "surplus_bytes",
    )

    def __init__(self) -> None:
        self._body: list[bytes] = []
        self._whole = 0  # pieces of the body when it was complete; others are of what came after it
        self.on_body = self._body.append
        self._parser = httptools.HttpResponseParser(self)
        self._framed = False
        self.headers: dict[str, str] = {}
        self.status: int | None = None
        self.encoding = ""
        self.decoder: BodyDecoder | None = None
        self.complete = False
        self.problem: str | None = None
        self.surplus_bytes = 0

    @property
    def until_close(self) -> bool:
        """True when only the end of the connection can end this body."""
        return self.status is not None and not self._framed

    def feed(self, data: bytes) -> bytes:
        """The body bytes that these bytes made readable (possibly none)."""
        if self.complete or self.problem is not None:
            self.surplus_bytes += len(data)
            return b""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._broke(error)
        pieces = self._body
        if self.complete:
            del pieces[self._whole :]
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        return body if self.decoder is None else self.decoder.feed(body)

    def feed_each(
        self, times_ns: Sequence[int], reads: Sequence[bytes]
    ) -> tuple[list[int], list[bytes], int]:
        """What ``feed`` makes of each of these reads, as far as the body goes.

        The time of each piece of body that they made readable, the pieces (of a chunked body its chunks, of
        which a server mostly sends one an event), and how many reads were fed. The head must be read, and the
        body neither complete nor broken.
        """
        times: list[int] = []
        bodies: list[bytes] = []
        fed = 0
        # The short way of ``feed``, for reads in the middle of a body that is sent as it is.
        feed, pieces = self._parser.feed_data, self._body
        for data in reads if self.decoder is None else ():
            try:
                feed(data)
            except httptools.HttpParserError as error:
                self._broke(error)
            if self.complete:
                del pieces[self._whole :]
            if pieces:
                times += [times_ns[fed]] * len(pieces)
                bodies += pieces
                pieces.clear()
            fed += 1
            if self.complete or self.problem is not None:
                break
        return times, bodies, fed

    def _broke(self, error: Exception) -> None:
        if not self.complete:
            self.problem = f"HTTP framing: {error}"

    def end(self) -> str | None:
        """Nothing more comes: what the content encoding could not be undone for, or None."""
        self._parser = _NOBODYS  # one's own holds this object: a circle
        if self.decoder is None:
            return None
        self.decoder.end()
        return self.decoder.problem

    # Names below, and ``on_body``, are httptools' protocol.
    def on_message_begin(self) -> None:
        if not self.complete:
            self.headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.complete:
            self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        if self.complete:
            return
        code = self._parser.get_status_code()
        if 100 <= code < 200 and code != 101:
            return
        self.status = code
        headers = self.headers
        self._framed = (
            "content-length" in headers
            or "chunked" in headers.get("transfer-encoding", "").lower()
            or code in (204, 304)
        )
        self.encoding = headers.get("content-encoding", "").strip().lower()
        if self.encoding not in ("", "identity"):
            self.decoder = BodyDecoder(self.encoding)

    def on_message_complete(self) -> None:
        if self.status is not None and not self.complete:
            self.complete = True
            self._whole = len(self._body)
