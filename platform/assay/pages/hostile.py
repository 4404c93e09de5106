"""Text that nobody vouches for, made visible: control and direction marks are shown, never obeyed.

HTML escaping is the template's; this keeps terminal escapes, NULs and right-to-left marks from changing how
a page reads.
"""

import unicodedata

MAX_CHARACTERS = 8_000
_KEPT = frozenset("\n\t")
_CONTROL_PICTURES = 0x2400  # U+2400 SYMBOL FOR NULL, in the order of the ASCII controls
_DELETE = 0x7F


def visible(text: str, limit: int = MAX_CHARACTERS) -> str:
    """``text`` with every invisible mark replaced by a picture of it, cut at ``limit`` characters."""
    if len(text) <= limit and text.isprintable():
        return text
    shown = "".join(map(_picture, text[:limit]))
    if len(text) > limit:
        shown += f" … ({len(text) - limit} more characters)"
    return shown


def visible_bytes(data: bytes, limit: int = MAX_CHARACTERS) -> str:
    """The same for raw bytes; what is no UTF-8 becomes U+FFFD."""
    cut = data[: 4 * limit].decode("utf-8", "replace")
    shown = visible(cut, limit)
    if len(data) > 4 * limit:
        shown += f" … ({len(data)} bytes in all)"
    return shown


def _picture(character: str) -> str:
    if character in _KEPT or character.isprintable():
        return character
    code = ord(character)
    if code < 0x20:
        return chr(_CONTROL_PICTURES + code)
    if code == _DELETE:
        return "␡"
    if unicodedata.category(character) == "Zs":
        return character
    return f"⟦U+{code:04X}⟧"
