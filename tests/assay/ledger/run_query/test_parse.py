"""Text to terms: what each word means, what is refused and how, and that no text breaks anything."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay.ledger.run_query.parse import LONGEST, MOST_TERMS, parse
from assay.ledger.run_query.rewrite import stated, with_field
from assay.ledger.run_query.terms import Compare, Match, Span, Text, Value
from assay.ledger.run_query.vocabulary import FIELDS, METRICS, STATES


def only(text: str) -> Text | Match | Span | Compare:
    query = parse(text)
    assert query.problems == ()
    [term] = query.terms
    return term


def test_a_word_is_looked_for_as_it_is() -> None:
    assert only("smollm2") == Text(word="smollm2", negated=False, text="smollm2")


@pytest.mark.parametrize(
    ("text", "said"),
    [('"two words"', "two words"), ('"state:failed"', "state:failed"), ('-"a b"', "a b")],
)
def test_what_is_quoted_is_text_whatever_it_looks_like(text: str, said: str) -> None:
    term = only(text)

    assert isinstance(term, Text)
    assert term.text == said
    assert term.negated is text.startswith("-")


def test_a_field_takes_alternatives_and_whole_values() -> None:
    assert only('-engine:torch,"vllm"') == Match(
        word='-engine:torch,"vllm"',
        negated=True,
        field="engine",
        values=(Value(text="torch", whole=False), Value(text="vllm", whole=True)),
    )


def test_a_comma_within_quotes_parts_nothing() -> None:
    term = only('model:"a, b"')

    assert isinstance(term, Match)
    assert term.values == (Value(text="a, b", whole=True),)


def test_the_column_of_a_table_names_its_field_too() -> None:
    term = only("artifact:smollm2")

    assert isinstance(term, Match)
    assert term.field == "model"


@pytest.mark.parametrize(
    ("text", "rule", "statistic", "sign", "value"),
    [
        ("ttft.p99<500ms", "ttft.first_content.client", "p99", "<", 0.5),
        ("tpot.p50<=20ms", "tpot.last_token", "p50", "<=", 0.02),
        ("ttft>1.5s", "ttft.first_content.client", "p50", ">", 1.5),
        ("throughput>100", "throughput.output_tokens", "rate", ">", 100.0),
        ("throughput>=100token/s", "throughput.output_tokens", "rate", ">=", 100.0),
        ("goodput>=95%", "goodput.ratio", "ratio", ">=", 0.95),
        ("goodput<0.5", "goodput.ratio", "ratio", "<", 0.5),
        ("ttft.server.p95<2min", "ttft.server", "p95", "<", 120.0),
        ("ttft.server<1e3us", "ttft.server", "p50", "<", 0.001),
        ("ttft.p99 < 500ms", "ttft.first_content.client", "p99", "<", 0.5),
    ],
)
def test_a_number_is_compared_in_the_unit_of_its_rule(
    text: str, rule: str, statistic: str, sign: str, value: float
) -> None:
    term = only(text)

    assert isinstance(term, Compare)
    assert (term.rule, term.statistic, term.sign) == (rule, statistic, sign)
    assert term.value == pytest.approx(value)


DAY = datetime(2026, 11, 1, tzinfo=UTC)
NEXT = datetime(2026, 11, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "since", "until"),
    [
        (">2026-11-01", NEXT, None),
        (">=2026-11-01", DAY, None),
        ("<2026-11-01", None, DAY),
        ("<=2026-11-01", None, NEXT),
        ("2026-11-01", DAY, NEXT),
        ("2026-11-01..2026-11-07", DAY, datetime(2026, 11, 8, tzinfo=UTC)),
    ],
)
def test_a_day_is_whole_and_in_utc(
    said: str, since: datetime | None, until: datetime | None
) -> None:
    term = only(f"created:{said}")

    assert isinstance(term, Span)
    assert (term.since, term.until, term.within) == (since, until, None)


@pytest.mark.parametrize(
    ("said", "within"),
    [("12h", timedelta(hours=12)), ("7d", timedelta(days=7)), ("2w", timedelta(days=14))],
)
def test_a_span_counts_back_from_now(said: str, within: timedelta) -> None:
    term = only(f"ended:{said}")

    assert isinstance(term, Span)
    assert (term.field, term.within) == ("ended", within)


@pytest.mark.parametrize(
    ("word", "seen", "allowed"),
    [
        ("colour:red", "no field colour", "model"),
        ("state:happy", "happy", "sealed"),
        ("state:", "nothing after the colon", "state:VALUE"),
        ("created:yesterday", "yesterday", "7d"),
        ("created:2026-02-30", "2026-02-30", "7d"),
        ("created:>", "no date", "7d"),
        ("ttft.p98<1s", "statistic p98", "p99"),
        ("speed>3", "no metric speed", "throughput"),
        ("ttft<500", "500", "ms"),
        ("ttft<", "nothing after the sign", "ms"),
        ("throughput>fast", "fast", "a number"),
        ("throughput>1e999", "1e999", "finite"),
        ("ttft=500ms", "=", "<="),
        ('"open', "a quotation mark without its second one", '"several words"'),
        ('""', "an empty quotation", "a phrase"),
    ],
)
def test_a_word_that_is_not_understood_is_named_with_what_is_allowed(
    word: str, seen: str, allowed: str
) -> None:
    query = parse(f"smollm2 {word}" if word != '"open' else f"smollm2 {word} state:sealed")

    [problem] = query.problems
    assert problem.field == word
    assert problem.seen == seen
    assert allowed in problem.allowed
    assert problem.remedy
    assert query.terms[0] == Text(word="smollm2", negated=False, text="smollm2")


def test_what_stands_after_an_open_quotation_is_still_read() -> None:
    query = parse('"open state:sealed')

    assert [p.field for p in query.problems] == ['"open']
    assert [term.word for term in query.terms] == ["state:sealed"]


def test_a_query_has_its_limits() -> None:
    many = parse(" ".join(f"w{i}" for i in range(MOST_TERMS + 5)))
    long = parse("x" * (LONGEST + 1))

    assert len(many.terms) == MOST_TERMS
    assert [p.seen for p in many.problems] == [f"more than {MOST_TERMS} words"]
    assert [p.field for p in long.problems] == ["query"]


SAID = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.builds(
            lambda negated, field, colon, value: f"{negated}{field}{colon}{value}",
            st.sampled_from(["", "-", '"', "--"]),
            st.sampled_from([*FIELDS, *METRICS, "ttft.p99", "nonsense", ""]),
            st.sampled_from([":", "<", ">=", "=", ":>", ":<=", " < ", ":,", "::"]),
            st.one_of(
                st.sampled_from(
                    [*STATES, "7d", "2026-11-01", "500ms", '"a b"', "a,b", "9999-12-31"]
                ),
                st.text(max_size=8),
            ),
        ),
    ),
    max_size=8,
).map(" ".join)


@given(st.one_of(SAID, st.text(max_size=300)))
def test_any_text_gives_a_query_or_named_problems(text: str) -> None:
    query = parse(text)

    assert len(query.terms) + len(query.problems) > 0 or not query.text
    for problem in query.problems:
        assert problem.field
        assert problem.seen
        assert problem.allowed
        assert problem.remedy


@given(SAID)
def test_a_query_reads_the_same_when_its_words_are_put_together_again(text: str) -> None:
    once = parse(text)

    again = parse(" ".join(term.word for term in once.terms))

    assert again.terms == once.terms
    assert again.problems == ()


@example("<", "state", "0")
@given(SAID, st.sampled_from(["state", "study", "model"]), st.text(min_size=1, max_size=20))
def test_a_drop_down_writes_one_value_of_its_field_and_reads_it_back(
    text: str, field: str, value: str
) -> None:
    value = "".join(c for c in value if c.isprintable() and c != '"').strip()

    written = with_field(text, field, value)

    assert stated(written, field) == value
    assert with_field(with_field(written, field, "other"), field, value) == written
