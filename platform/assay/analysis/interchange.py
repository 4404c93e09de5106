"""The interchange form of a recorded stream: ``wire.jsonl`` and the events file beside it.

One JSON object a line, read as a stream: rows of attempts may interleave, and nothing but the open attempts
is held. Reads carry body bytes after HTTP de-chunking, or the whole HTTP response with ``"raw_http": true``.
A line that cannot be read is refused with its number.
"""

import base64
import binascii
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from assay.analysis.errors import BadRecord
from assay.analysis.events import EventRecord, perspective_of
from assay.analysis.wire.attempt import Attempt, AttemptIds
from assay.analysis.wire.attempt_reader import AttemptReader
from assay.analysis.wire.declared import NOTHING_DECLARED, Declared
from assay.analysis.wire.json_text import NotJson, is_whole, read_json
from runners.protocol.events import WireKind

UNSPECIFIED_DOMAIN = "unspecified"
_ID_NAMES = ("request_id", "task_id", "session_id", "model_call_id", "retry_of")
_ID_SET = frozenset(_ID_NAMES)
_TIME_LIMIT = 2**63  # what the tables hold
_KINDS = {kind.value: kind for kind in WireKind}


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRow:
    ids: AttemptIds
    t_ns: int
    kind: WireKind
    data: bytes
    raw_http: bool
    status: int | None
    detail: str | None
    clock_domain: str
    line: int


def wire_rows(lines: Iterable[str | bytes], *, file: str) -> Iterator[WireRow]:
    """Rows of a ``wire.jsonl``; blank lines are skipped. ``file`` is the name in messages and evidence."""
    known: dict[str, AttemptIds] = {}
    for number, document in _objects(lines, file=file):
        where = f"{file}:{number}"
        kind = _KINDS.get(str(document.get("kind")))
        if kind is None:
            raise BadRecord(
                field=f"{where} kind",
                seen=repr(document.get("kind")),
                allowed=", ".join(_KINDS),
                remedy="Use the kinds of the interchange form.",
            )
        attempt_id = _text(document, "attempt_id", where)
        ids = known.get(attempt_id)
        if ids is None or not _ID_SET.isdisjoint(document):
            ids = AttemptIds(
                attempt_id=attempt_id,
                **{name: _optional_text(document, name, where) for name in _ID_NAMES},
            )
            known.setdefault(attempt_id, AttemptIds(attempt_id=attempt_id))
        yield WireRow(
            ids=ids,
            t_ns=_time(document, where),
            kind=kind,
            data=_payload(document, where) if kind is WireKind.read else b"",
            raw_http=document.get("raw_http") is True,
            status=_status(document, where),
            detail=_optional_text(document, "detail", where),
            clock_domain=_optional_text(document, "clock_domain", where) or UNSPECIFIED_DOMAIN,
            line=number,
        )


def read_attempts(
    rows: Iterable[WireRow], *, file: str, declared: Declared = NOTHING_DECLARED
) -> list[Attempt]:
    """All attempts of a recorded stream, in the order in which they first appear."""
    readers: dict[str, AttemptReader] = {}
    for row in rows:
        reader = readers.get(row.ids.attempt_id)
        if reader is None:
            reader = readers[row.ids.attempt_id] = AttemptReader(
                row.ids, row.clock_domain, declared
            )
        else:
            _merge_ids(reader.attempt, row, file)
        if row.kind is WireKind.read:
            if row.status is not None and reader.attempt.status is None:
                reader.attempt.status = row.status
            reader.read(row.t_ns, row.data, raw_http=row.raw_http)
        else:
            reader.mark(
                row.kind,
                row.t_ns,
                status=row.status,
                detail=row.detail,
                evidence=f"{file}:{row.line}",
            )
    return [reader.finish() for reader in readers.values()]


def event_records(lines: Iterable[str | bytes], *, file: str) -> Iterator[EventRecord]:
    """Rows of an events file. A missing ``error_ns`` means that the clock is not calibrated to the wire's."""
    for number, document in _objects(lines, file=file):
        where = f"{file}:{number}"
        event = _text(document, "event", where)
        error_ns = document.get("error_ns")
        if error_ns is not None and (not _is_int(error_ns) or error_ns < 0):
            raise BadRecord(
                field=f"{where} error_ns",
                seen=repr(error_ns),
                allowed="a whole number of ns, 0 or more, or null",
                remedy="Give the bound of the clock mapping.",
            )
        perspective = _optional_text(document, "perspective", where) or perspective_of(event)
        yield EventRecord(
            event=event,
            t_ns=_time(document, where),
            clock_domain=_optional_text(document, "clock_domain", where) or UNSPECIFIED_DOMAIN,
            error_ns=error_ns,
            layer=_optional_text(document, "layer", where) or perspective,
            perspective=perspective,
            attempt_id=_optional_text(document, "attempt_id", where),
            request_id=_optional_text(document, "request_id", where),
            task_id=_optional_text(document, "task_id", where),
            session_id=_optional_text(document, "session_id", where),
            model_call_id=_optional_text(document, "model_call_id", where),
            value=document.get("value"),
            evidence=where,
        )


def _merge_ids(attempt: Attempt, row: WireRow, file: str) -> None:
    """Later rows may add ids; a different id or clock for the same attempt is a contradiction."""
    if row.ids == attempt.ids and row.clock_domain == attempt.clock_domain:
        return
    if row.clock_domain not in (attempt.clock_domain, UNSPECIFIED_DOMAIN):
        if attempt.clock_domain != UNSPECIFIED_DOMAIN:
            raise BadRecord(
                field=f"{file}:{row.line} clock_domain",
                seen=row.clock_domain,
                allowed=attempt.clock_domain,
                remedy="One attempt is stamped by one clock; put other clocks in the events file.",
            )
        attempt.clock_domain = row.clock_domain
    for name in _ID_NAMES:
        new, known = getattr(row.ids, name), getattr(attempt.ids, name)
        if new is None or new == known:
            continue
        if known is not None:
            raise BadRecord(
                field=f"{file}:{row.line} {name}",
                seen=new,
                allowed=known,
                remedy=f"Attempt {attempt.attempt_id} already has this id.",
            )
        attempt.ids = replace(attempt.ids, **{name: new})


def _objects(lines: Iterable[str | bytes], *, file: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            document = read_json(line.encode() if isinstance(line, str) else line)
        except (NotJson, UnicodeEncodeError) as error:
            raise BadRecord(
                field=f"{file}:{number}",
                seen=str(error),
                allowed="one JSON object a line",
                remedy="Mend or remove the line.",
            ) from None
        if not isinstance(document, dict):
            raise BadRecord(
                field=f"{file}:{number}",
                seen=type(document).__name__,
                allowed="one JSON object a line",
                remedy="Mend or remove the line.",
            )
        yield number, document


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _time(document: dict[str, Any], where: str) -> int:
    value = document.get("t_ns")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not _is_int(value) or abs(value) >= _TIME_LIMIT:  # type: ignore[arg-type]  # an int by then
        raise BadRecord(
            field=f"{where} t_ns",
            seen=repr(value)[:80],
            allowed="a whole number of ns",
            remedy="Give the time in ns of the row's clock domain.",
        )
    return int(value)  # type: ignore[arg-type]  # checked above


def _status(document: dict[str, Any], where: str) -> int | None:
    value = document.get("status")
    if value is None or _is_int(value):
        return value
    raise BadRecord(
        field=f"{where} status",
        seen=repr(value),
        allowed="an HTTP status code or null",
        remedy="Give the status as a number.",
    )


def _text(document: dict[str, Any], name: str, where: str) -> str:
    value = document.get(name)
    if isinstance(value, str) and value and is_whole(value):
        return value
    raise BadRecord(
        field=f"{where} {name}",
        seen=repr(value),
        allowed="a non-empty text of whole characters",
        remedy=f"Give the {name} of the row.",
    )


def _optional_text(document: dict[str, Any], name: str, where: str) -> str | None:
    return None if document.get(name) is None else _text(document, name, where)


def _payload(document: dict[str, Any], where: str) -> bytes:
    text, encoded = document.get("text"), document.get("b64")
    if isinstance(text, str) and encoded is None:
        return text.encode("utf-8", "surrogatepass")
    if isinstance(encoded, str) and text is None:
        try:
            return base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError) as error:
            raise BadRecord(
                field=f"{where} b64",
                seen=str(error),
                allowed="base64",
                remedy="Encode the bytes of the read as standard base64.",
            ) from None
    raise BadRecord(
        field=where,
        seen="text and b64" if text is not None and encoded is not None else "no payload",
        allowed="exactly one of text and b64 on a read",
        remedy="Give the bytes of the read once.",
    )
