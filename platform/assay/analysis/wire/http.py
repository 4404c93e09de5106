"""A raw HTTP/1.x response, incrementally: body pieces as they became readable, and how the body ended.

Framing is httptools' (llhttp): content-length, chunked, or until the connection closes. Informational
(1xx) responses are passed over. Bytes after a complete response are counted as surplus, never parsed.
"""

import httptools

from assay.analysis.wire.encoding import BodyDecoder


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
        "complete",
        "decoder",
        "encoding",
        "headers",
        "problem",
        "status",
        "surplus_bytes",
    )

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._body: list[bytes] = []
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
            if not self.complete:
                self.problem = f"HTTP framing: {error}"
        pieces, self._body = self._body, []
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        return body if self.decoder is None else self.decoder.feed(body)

    def end(self) -> str | None:
        """The body is over: what its content encoding could not be undone for, or None."""
        if self.decoder is None:
            return None
        self.decoder.end()
        return self.decoder.problem

    # Names below are httptools' protocol.
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

    def on_body(self, body: bytes) -> None:
        if not self.complete:
            self._body.append(body)

    def on_message_complete(self) -> None:
        if self.status is not None:
            self.complete = True
