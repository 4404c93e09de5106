"""Cut a search into its words. Quotes hold blanks together, and so does a comparison: ``tpot < 20ms``."""

from collections.abc import Iterator

SIGNS = "<>="
QUOTE = '"'


def words(text: str) -> Iterator[str]:
    """The words of ``text`` in order, as they were written, without the blanks between them."""
    at = 0
    while (at := _skip_blanks(text, at)) < len(text):
        end = _end_of_word(text, at)
        yield _without_blanks(text[at:end])
        at = end


def closed(word: str) -> bool:
    """Whether every quotation mark in ``word`` has its second one."""
    return word.count(QUOTE) % 2 == 0


def parts(text: str, separator: str) -> list[str]:
    """``text`` cut at ``separator`` outside quotation marks."""
    found, quoted = [""], False
    for char in text:
        quoted ^= char == QUOTE
        if char == separator and not quoted:
            found.append("")
        else:
            found[-1] += char
    return found


def _end_of_word(text: str, at: int) -> int:
    while at < len(text):
        char = text[at]
        if char == QUOTE:
            close = text.find(QUOTE, at + 1)
            at = close + 1 if close >= 0 else at + 1
        elif char.isspace():
            after = _skip_blanks(text, at)
            if not _joined(text, at, after):
                return at
            at = after
        else:
            at += 1
    return at


def _joined(text: str, at: int, after: int) -> bool:
    """Whether the blank before ``after`` lies beside a comparison sign, and so within one word."""
    if after >= len(text):
        return False
    return text[after] in SIGNS or (at > 0 and text[at - 1] in SIGNS)


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _without_blanks(word: str) -> str:
    """The word without the blanks beside its comparison signs; quoted ones stay."""
    kept, quoted = "", False
    for char in word:
        quoted ^= char == QUOTE
        kept += char if quoted or not char.isspace() else ""
    return kept
