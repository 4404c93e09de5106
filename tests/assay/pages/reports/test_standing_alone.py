"""A page's HTML in a file: what is read stays, what needs a server goes, and no text becomes markup."""

import pytest

from assay.pages.reports.standing_alone import leaf


def alone(html: str, without: frozenset[str] = frozenset()) -> str:
    return str(leaf(html, prefix="c1-", rules_page="/rules", without=without).html)


def test_only_the_main_part_of_a_page_is_kept() -> None:
    main = '<p class="note">TTFT <b>142</b> ms</p>'
    page = f'<body><nav>Runs</nav><main id="main">{main}</main><footer>x</footer>'

    assert alone(page) == main


@pytest.mark.parametrize(
    "gone",
    [
        "<form><input name=run><p>Add a run</p></form>",
        "<button data-copy=x>copy</button>",
        '<span class="exports">CSV</span>',
        '<p data-live><a href="/launch">Run again</a></p>',
        "<script>alert(1)</script>",
        "<style>p{}</style>",
        '<img src="https://example.org/x.png">',
    ],
)
def test_what_needs_a_server_or_could_load_something_is_left_out(gone: str) -> None:
    assert alone(f"<p>before</p>{gone}<p>after</p>") == "<p>before</p><p>after</p>"


@pytest.mark.parametrize(
    "attribute",
    [
        'onclick="x()"',
        'style="background:url(//example.org)"',
        'hx-get="/runs"',
        'src="//x"',
        "data-copy=y",
    ],
)
def test_an_attribute_that_acts_is_left_out(attribute: str) -> None:
    assert alone(f'<td class="n" {attribute}>1</td>') == '<td class="n">1</td>'


def test_text_that_was_escaped_on_the_page_is_escaped_in_the_file() -> None:
    said = "&lt;script&gt;alert(1)&lt;/script&gt; &amp;lt; \u202e\x1b[31m"

    kept = alone(f'<pre title="&quot;&gt;&lt;b&gt;">{said}</pre>')

    assert "<script" not in kept
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp;lt;" in kept
    assert 'title="&quot;&gt;&lt;b&gt;"' in kept


def test_links_within_follow_their_prefix_links_to_rules_the_list_others_are_words() -> None:
    part = leaf(
        '<section aria-labelledby="gaps runs"><h2 id="gaps">Gaps</h2><a href="#gaps">up</a>'
        '<a class="rule-link" href="/rules#ttft.first_content.client">ttft</a>'
        '<a href="/runs/1">a run</a></section>',
        prefix="c1-",
        rules_page="/rules",
    )

    assert str(part.html) == (
        '<section aria-labelledby="c1-gaps c1-runs"><h2 id="c1-gaps">Gaps</h2><a href="#c1-gaps">up</a>'
        '<a href="#rule-ttft.first_content.client" class="rule-link">ttft</a><span>a run</span></section>'
    )
    assert part.rules == {"ttft.first_content.client"}


def test_a_part_can_be_left_out_by_its_class() -> None:
    html = '<div class="page-head run-head"><h1>Run</h1></div><p>rest</p>'

    assert alone(html, frozenset({"page-head"})) == "<p>rest</p>"


def test_a_figure_is_drawn_from_the_data_that_stand_behind_it() -> None:
    figure = '{"data": [{"type": "scatter", "mode": "markers", "x": [1], "y": [2]}], "layout": {}}'
    html = (
        '<figure class="figure" data-figure="f"><div class="plot" aria-label="Two &lt; three"></div></figure>'
        f'<script id="f" type="application/json">{figure}</script>'
    )

    kept = alone(html)

    assert kept.count("<svg viewBox") == 2
    assert 'aria-label="Two &lt; three"' in kept
    assert "<circle" in kept
    assert "script" not in kept
