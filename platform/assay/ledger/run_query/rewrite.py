"""Change a query as text: the drop-down filters of a page write their choice into it."""

from itertools import dropwhile

from assay.ledger.run_query import tokens


def with_field(text: str, field: str, value: str) -> str:
    """``text`` with ``field:value`` for what it said of ``field``; an empty value only removes that."""
    others = (word for word in tokens.words(text) if not word.startswith(f"{field}:"))
    # A comparison of nothing would become one of the word in front of it.
    kept = list(dropwhile(lambda word: word[0] in tokens.SIGNS, others))
    # In front: behind an open quotation it would be part of that.
    return " ".join([*([f"{field}:{quoted(value)}"] if value else []), *kept])


def quoted(value: str) -> str:
    """``value`` as a whole value of a field. A quotation mark cannot be asked for; it is left out."""
    return f'"{value.replace(tokens.QUOTE, "")}"'


def stated(text: str, field: str) -> str:
    """The one value that ``text`` asks of ``field``, or an empty string when there is none or several."""
    said = [word for word in tokens.words(text) if word.startswith(f"{field}:")]
    if len(said) != 1:
        return ""
    found = tokens.parts(said[0].partition(":")[2], ",")
    return found[0].replace(tokens.QUOTE, "") if len(found) == 1 else ""
