"""What a thread is about: one place of a run, named so that a link leads back to it.

An anchor is a kind and a key. The key is what the place is called in the archive (the name of a gap, the
rule, statistic and population of a measure, the path of a file), never its position on a page.
"""

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from experiments.errors import refuse

KEY_LENGTH = 600
PARTS = " · "  # between the parts of a key; a population or a rule never holds it


class AnchorKind(StrEnum):
    run = "run"  # the run as a whole; its key is empty
    statement = "statement"  # of a review, which is no place in a run; its key is empty
    measure = "measure"  # rule · statistic (may be empty) · population
    ledger_row = "ledger_row"  # attempt id
    residual = "residual"  # quantity · conditions
    gap = "gap"  # its name
    chart = "chart"  # page/figure
    cell = "cell"  # table/row
    rule = "rule"  # rule id
    file = "file"  # path in the bundle


WITHOUT_KEY = (AnchorKind.run, AnchorKind.statement)
CHARTS = (
    "timeline/lanes",
    "latency/ecdf",
    "latency/ladder",
    "residuals/dumbbells",
    "residuals/waterfall",
    "residuals/roofline",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    kind: AnchorKind
    key: str = ""

    @property
    def fragment(self) -> str:
        """The id of the place in its page."""
        digest = hashlib.sha256(f"{self.kind.value}:{self.key}".encode()).hexdigest()
        return f"at-{self.kind.value}-{digest[:10]}"

    def __str__(self) -> str:
        return f"{self.kind.value} {self.key}".strip()


def anchor_of(kind: str, key: str) -> Anchor:
    """Raises Refusal for a kind that does not exist, and for a key that cannot be one."""
    if kind not in list(AnchorKind):
        raise refuse(
            field="kind",
            seen=kind or "nothing",
            allowed=", ".join(AnchorKind),
            remedy="Follow a discuss link of a run's page.",
        )
    found = Anchor(kind=AnchorKind(kind), key=key.strip())
    if len(found.key) > KEY_LENGTH or bool(found.key) == (found.kind in WITHOUT_KEY):
        raise refuse(
            field="key",
            seen=f"{len(found.key)} characters",
            allowed=f"1 to {KEY_LENGTH}, or none for the run as a whole",
            remedy="Follow a discuss link of a run's page.",
        )
    return found


def joined_key(*parts: str) -> str:
    return PARTS.join(parts)


def short(text: str, length: int = 90) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
