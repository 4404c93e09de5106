"""The token ids of a scheduled start beside those of the first start of its segment."""

from dataclasses import dataclass

from assay.analysis.regression.answers import Answer
from assay.analysis.regression.numeric import numeric_check
from assay.analysis.regression.series import Segment, Start
from assay.analysis.repetition.comparison import compare
from assay.archive.paths import Home
from assay.archive.readers import Bundle
from assay.archive.remote.fetching import bundle_folder
from assay.archive.repeated import outputs, setting
from assay.ledger.models import Run
from assay.ledger.queries import bundle_of
from runners.protocol import layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Numeric:
    """``reference`` is the run that it was compared with; null where there was none."""

    answer: Answer
    reason: str
    reference: Run | None = None


def look(run: Run, segment: Segment, newest: Start, home: Home) -> Numeric:
    """A disturbed machine changes no token: only a run without a result, or another one, has no answer."""
    if not newest.ended:
        return Numeric(answer=Answer.failed, reason=f"run {run.pk} ended without a result")
    reference = _reference(run, segment)
    if reference is None:
        return _without_reference(segment)
    was, now = (_bundle(one, home) for one in (reference, run))
    if was is None or now is None:
        return Numeric(answer=Answer.missing, reason="a bundle of the two is not there any more")
    answer, reason = numeric_check(setting(was), setting(now), compare(outputs(was), outputs(now)))
    return Numeric(answer=answer, reason=reason, reference=reference)


def _reference(run: Run, segment: Segment) -> Run | None:
    """The first start of the segment with the same declaration."""
    known = Run.objects.in_bulk([s.run for s in segment.starts])
    by_id = {str(key): one for key, one in known.items()}
    ordered = [by_id[s.run] for s in segment.starts if s.run in by_id and s.run != str(run.pk)]
    return next((r for r in ordered if r.spec_digest == run.spec_digest), None)


def _without_reference(segment: Segment) -> Numeric:
    if segment.why and len(segment.starts) == 1:
        named = ", ".join(d.field for d in segment.why)
        return Numeric(answer=Answer.not_comparable, reason=f"it differs in {named}")
    words = "no earlier start of this declaration to compare token ids with"
    return Numeric(answer=Answer.insufficient, reason=words)


def _bundle(run: Run, home: Home) -> Bundle | None:
    row = bundle_of(run)
    folder = bundle_folder(home, row.digest) if row is not None else None
    is_here = folder is not None and (folder / layout.MANIFEST).is_file()
    return Bundle(folder) if folder is not None and is_here else None
