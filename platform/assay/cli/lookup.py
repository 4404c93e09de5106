"""Find the one run that a person means by an id, its beginning or a bundle digest."""

from assay.ledger import queries
from assay.ledger.models import Run


class AmbiguousRun(Exception):
    """Not exactly one run goes by that name; the message says which do."""


def one_run(text: str) -> Run:
    found = list(queries.find_runs(text)[:5])
    if len(found) == 1:
        return found[0]
    if not found:
        raise AmbiguousRun(
            f"run: {text} (allowed: the id of a run, its beginning of six characters or more, or the digest "
            "of its bundle). The runs page and `assay run` print ids"
        )
    names = ", ".join(str(r.id) for r in found)
    raise AmbiguousRun(f"run: {text} is not unique (allowed: one of {names}). Give more of it")
