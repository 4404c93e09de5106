"""JSON out of payload bytes: orjson, and the standard library for what orjson is stricter about.

Bytes that are no UTF-8 become replacement characters, as the event stream standard says; half surrogate
pairs, NaN and numbers of any size are read as Python reads them.
"""

import json
import re
from typing import Any

import orjson

_HALF_PAIR = re.compile("[\ud800-\udfff]")
_decode = json.JSONDecoder().decode  # json.loads looks at its options for every payload


class NotJson(ValueError):
    """The bytes are no JSON document; the message says where."""


def read_json(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass
    try:
        return _decode(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None


def is_json(raw: bytes) -> bool:
    try:
        read_json(raw)
    except NotJson:
        return False
    return True


def is_whole(text: str) -> bool:
    """Whether the text holds no half of a surrogate pair, so that it can be written as UTF-8."""
    return text.isascii() or _HALF_PAIR.search(text) is None


def whole_characters(text: str) -> str:
    """Halves of a surrogate pair that met are one character; a half alone becomes the replacement character.

    Servers that count text in UTF-16 may split a pair over two deltas.
    """
    if is_whole(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
