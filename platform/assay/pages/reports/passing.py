"""What may pass from a page to a file: tags, attributes, and what is left out with all that is in it."""

KEPT = frozenset(
    {
        "section",
        "article",
        "div",
        "span",
        "p",
        "h1",
        "h2",
        "h3",
        "h4",
        "ul",
        "ol",
        "li",
        "dl",
        "dt",
        "dd",
        "table",
        "caption",
        "thead",
        "tbody",
        "tfoot",
        "tr",
        "th",
        "td",
        "code",
        "pre",
        "strong",
        "em",
        "b",
        "i",
        "small",
        "sub",
        "sup",
        "abbr",
        "kbd",
        "details",
        "summary",
        "time",
        "figure",
        "figcaption",
        "progress",
        "br",
        "wbr",
        "hr",
        "svg",
        "rect",
    }
)
VOID = frozenset({"br", "wbr", "hr", "input", "img", "meta", "link", "col"})
DROPPED = frozenset(
    {
        "form",
        "script",
        "style",
        "nav",
        "button",
        "input",
        "select",
        "textarea",
        "template",
        "noscript",
        "img",
    }
)
DROPPED_CLASSES = frozenset({"exports", "discuss", "actions", "crumbs", "quote-row"})
LIVE = "data-live"  # in a template: of use only while a server answers
FOLDS = "data-folds"  # in a template: asked for on the page, folded in a file
ATTRIBUTES = frozenset(
    {
        "class",
        "title",
        "colspan",
        "rowspan",
        "scope",
        "role",
        "datetime",
        "lang",
        "dir",
        "open",
        "value",
        "max",
        "start",
        "tabindex",
        "aria-label",
        "aria-hidden",
        "viewbox",
        "preserveaspectratio",
        "x",
        "y",
        "width",
        "height",
    }
)
_SERVED = ("data-figure", "data-copy", "data-name", "data-grows")  # for scripts of the page


def passes(attribute: str) -> bool:
    """Whether an attribute of a kept tag stays as it is."""
    if attribute.startswith("data-"):
        return not attribute.startswith(_SERVED)
    return attribute in ATTRIBUTES
