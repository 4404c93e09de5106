"""The catalogue of metrics as a page of the documentation: ``python -m`` this module prints it."""

import sys
from collections.abc import Sequence

from assay.analysis.definition import DEFINITION_VERSION
from assay.analysis.metrics.catalogue import families
from assay.analysis.metrics.rule import Definition

_HEAD = f"""# Metrics

Written by `make docs` from `platform/assay/analysis/metrics`; the dashboard's page *Rules* shows the same
catalogue. Definition version {DEFINITION_VERSION}: a changed rule changes it, and numbers before and after
are not comparable. One word means several things in the field, so a number is named by its rule id.

`perspective` says who saw it, `layer` where. A metric whose needs are not met is absent with a reason,
never 0.
"""
_COLUMNS = ("rule", "formula", "unit", "population", "needs", "perspective, layer", "source")


def document() -> str:
    """The whole page, in Markdown."""
    sections = [f"## {name}\n\n{_table(rules)}" for name, rules in families()]
    return "\n".join([_HEAD, *sections])


def _table(rules: Sequence[Definition]) -> str:
    lines = [_line(_COLUMNS), "|" + "---|" * len(_COLUMNS)]
    lines += [_line(_cells(rule)) for rule in rules]
    return "\n".join(lines) + "\n"


def _cells(rule: Definition) -> tuple[str, ...]:
    return (
        f"`{rule.id}` v{rule.version}<br>{rule.title}",
        f"`{rule.formula}`",
        rule.unit,
        rule.population,
        rule.needs,
        f"{rule.perspective}, `{rule.layer}`",
        rule.source,
    )


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    sys.stdout.write(document())
