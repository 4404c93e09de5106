"""What the pages of a run say, and its translation: ``python -m tests.messages`` brings both together.

Strings are taken from the templates and modules below; the catalogue keeps a translation for each, loses
those that are no longer said, and is compiled. ``test_translation.py`` holds that none is missing.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import polib

ROOT = Path(__file__).resolve().parents[1]
LANGUAGE = "zh_Hans"
CATALOGUE = ROOT / "frontend" / "locale" / LANGUAGE / "LC_MESSAGES" / "django.po"
TEMPLATES = ROOT / "frontend" / "templates"
PAGES = ROOT / "platform" / "assay" / "pages"
# The run's own pages, the frame around them, and what they share with the artifact's page.
SHOWN = (
    *("base.html", "pages/run/*.html", "pages/_measure.html", "pages/_grade.html"),
    *("pages/_table_foot.html", "pages/artifact/_table.html", "pages/report/*.html"),
)
MODULES = (
    *("words.py", "hostile.py", "templatetags/assay.py", "views/run_tables.py"),
    *("views/reports.py", "views/report_chapters.py"),
    *(
        f"contexts/{name}.py"
        for name in (
            *("attempt", "diagnosis", "evidence", "head", "identity", "ledger_filter", "ledgers"),
            *(
                "latency",
                "overview",
                "progress",
                "quote",
                "raw_reads",
                "reach",
                "record",
            ),
            *("residuals", "session_log", "step_tracks", "telemetry_tracks", "timeline_rows"),
            "trace_quote",
        )
    ),
)
EXECUTION = ROOT / "platform" / "assay" / "execution"
WAITING = (EXECUTION / "waiting.py", EXECUTION / "load_workers.py")  # why a queued run waits
_CALLS = {"_", "gettext", "gettext_lazy", "ngettext"}
_IN_TEMPLATE = re.compile(r"(?<!\w)(ngettext|gettext|_)\((?=u?['\"])")

Message = tuple[str, str | None]  # what is said of one, and of many


def said_in_templates() -> set[Message]:
    from django.utils.translation.template import templatize

    found: set[Message] = set()
    for pattern in SHOWN:
        for path in sorted(TEMPLATES.glob(pattern)):
            found |= set(_calls_in_text(templatize(path.read_text(encoding="utf-8"))))
    return found


def _calls_in_text(text: str) -> Iterator[Message]:
    """Calls in what is no module: each is cut out at its closing bracket and read alone."""
    for match in _IN_TEMPLATE.finditer(text):
        yield from _messages(ast.parse(_whole_call(text, match.start()), mode="eval"))


def _whole_call(text: str, start: int) -> str:
    for end in range(text.index(")", start), len(text)):
        if text[end] == ")":
            call = text[start : end + 1]
            try:
                ast.parse(call, mode="eval")
            except SyntaxError:
                continue
            return call
    raise ValueError(text[start : start + 80])


def said_in_modules() -> set[Message]:
    found: set[Message] = set()
    for path in (*(PAGES / name for name in MODULES), *WAITING):
        found |= set(_messages(ast.parse(path.read_text(encoding="utf-8"))))
    return found


def _messages(tree: ast.AST) -> Iterator[Message]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        texts = [a.value for a in node.args[:2] if isinstance(a, ast.Constant)]
        if node.func.id in _CALLS and texts and isinstance(texts[0], str):
            many = texts[1] if node.func.id == "ngettext" and len(texts) > 1 else None
            yield texts[0], str(many) if many is not None else None


def said() -> set[Message]:
    return said_in_templates() | said_in_modules()


def bring_together() -> list[str]:
    """Writes the catalogue and its compiled form; returns what has no translation yet."""
    if CATALOGUE.is_file():
        catalogue = polib.pofile(str(CATALOGUE), wrapwidth=110)
    else:
        catalogue = polib.POFile(wrapwidth=110)
        CATALOGUE.parent.mkdir(parents=True)
    known = {entry.msgid: entry for entry in catalogue}
    catalogue.clear()
    catalogue.metadata = {
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Transfer-Encoding": "8bit",
        "Language": LANGUAGE,
        "Plural-Forms": "nplurals=1; plural=0;",
    }
    for one, many in sorted(said(), key=lambda message: (message[0].casefold(), message[0])):
        entry = known.get(one) or polib.POEntry(msgid=one)
        if many is not None:
            entry.msgid_plural = many
            entry.msgstr_plural = {0: entry.msgstr_plural.get(0) or entry.msgstr}
            entry.msgstr = ""
        if catalogue.find(one) is None:
            catalogue.append(entry)
    catalogue.save(str(CATALOGUE))
    catalogue.save_as_mofile(str(CATALOGUE.with_suffix(".mo")))
    return [entry.msgid for entry in catalogue if not entry.translated()]


if __name__ == "__main__":
    left = bring_together()
    print("\n".join(left) or "every string is translated")
    sys.exit(1 if left else 0)
