"""Text to terms. Any text gives a query: what is not understood is a named problem, the rest filters."""

import re

from assay.ledger.run_query import tokens, values
from assay.ledger.run_query.terms import Match, RunQuery, Term, Text, Value
from assay.ledger.run_query.vocabulary import (
    DATE_FIELDS,
    FIELDS,
    OTHER_NAMES,
    STATE,
    STATES,
)
from experiments.errors import Finding, Refusal, refuse

LONGEST = 1000  # characters of a query
MOST_TERMS = 24

_FIELD = re.compile(r"([A-Za-z_]+):(.*)", re.DOTALL)
_COMPARISON = re.compile(r"([A-Za-z][A-Za-z0-9_.]*)(<=|>=|<|>|=)(.*)", re.DOTALL)
_QUOTE_IT = 'Put it in quotes to search for the text itself: "{}".'


def parse(text: str) -> RunQuery:
    """Never raises. See docs/queries.md for the language."""
    text = _plain(text)
    terms: list[Term] = []
    problems: list[Finding] = []
    if len(text) > LONGEST:
        problems.append(_too_long(text))
        text = text[:LONGEST]
    for word in tokens.words(text):
        if len(terms) == MOST_TERMS:
            problems.append(_too_many(word))
            break
        try:
            terms.append(_term(word))
        except Refusal as refusal:
            problems.extend(refusal.findings)
    return RunQuery(text=text.strip(), terms=tuple(terms), problems=tuple(problems))


def _term(word: str) -> Term:
    if not tokens.closed(word):
        raise refuse(
            field=word,
            seen="a quotation mark without its second one",
            allowed='"several words"',
            remedy="Close the quotation.",
        )
    negated = word.startswith("-") and len(word) > 1
    body = word[1:] if negated else word
    if body.startswith(tokens.QUOTE):
        return _text(word, body, negated=negated)
    if field := _FIELD.fullmatch(body):
        return _of_field(word, field[1].lower(), field[2], negated=negated)
    if compared := _COMPARISON.fullmatch(body):
        return values.compare(word, compared[1], compared[2], compared[3], negated=negated)
    return _text(word, body, negated=negated)


def _of_field(word: str, name: str, text: str, *, negated: bool) -> Term:
    name = OTHER_NAMES.get(name, name)
    if name not in FIELDS:
        raise refuse(
            field=word,
            seen=f"no field {name}",
            allowed=", ".join(FIELDS),
            remedy=_QUOTE_IT.format(word),
        )
    if not text.replace(tokens.QUOTE, "").strip():
        raise refuse(
            field=word,
            seen="nothing after the colon",
            allowed=f"{name}:VALUE",
            remedy="Give a value or remove the word.",
        )
    if name in DATE_FIELDS:
        return values.span(word, name, text.replace(tokens.QUOTE, ""), negated=negated)
    found = tuple(_value(part) for part in tokens.parts(text, ",") if part.strip('" '))
    if name == STATE:
        _check_states(word, found)
    return Match(word=word, negated=negated, field=name, values=found)


def _value(part: str) -> Value:
    whole = len(part) > 1 and part[0] == part[-1] == tokens.QUOTE
    return Value(text=part.replace(tokens.QUOTE, "").strip(), whole=whole)


def _check_states(word: str, found: tuple[Value, ...]) -> None:
    for value in found:
        if value.text.lower() not in STATES:
            raise refuse(
                field=word,
                seen=value.text,
                allowed=", ".join(STATES),
                remedy="A state is one of these words.",
            )


def _text(word: str, body: str, *, negated: bool) -> Text:
    text = body.replace(tokens.QUOTE, "").strip()
    if not text:
        raise refuse(
            field=word,
            seen="an empty quotation",
            allowed="a word, or a phrase in quotes",
            remedy="Remove it or write what to look for.",
        )
    return Text(word=word, negated=negated, text=text)


def _plain(text: str) -> str:
    """Without what no name holds and a database refuses: control characters and lone surrogates."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(c if c.isprintable() else " " for c in whole)


def _too_long(text: str) -> Finding:
    return Finding(
        field="query",
        seen=f"{len(text)} characters",
        allowed=f"{LONGEST} characters",
        remedy="Only the beginning was read.",
    )


def _too_many(word: str) -> Finding:
    return Finding(
        field=word,
        seen=f"more than {MOST_TERMS} words",
        allowed=f"{MOST_TERMS} words",
        remedy="This one and those after it were left out.",
    )
