"""What ending or repeating comes to: which runs it touches, and what each of them leaves."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from assay.ledger.models import Run, Study
from assay.pages import words


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """``one`` is the run that was asked about, None for a whole study."""

    study: Study
    one: Run | None
    queued: int
    running: int
    ended: int
    cells: list[Run]  # of each declaration its last repetition, in recorded order

    @property
    def live(self) -> int:
        return self.queued + self.running


def control(study: Study, runs: Sequence[Run], *, one: Run | None = None) -> Control:
    states = Counter(run.state for run in runs)
    last: dict[str, Run] = {}
    for run in runs:
        known = last.get(run.spec_digest)
        if known is None or run.repetition > known.repetition:
            last[run.spec_digest] = run
    return Control(
        study=study,
        one=one,
        queued=states["queued"],
        running=states["running"],
        ended=sum(count for state, count in states.items() if state not in words.LIVE_STATES),
        cells=sorted(last.values(), key=lambda run: run.position),
    )
