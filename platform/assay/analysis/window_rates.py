"""Each window of a load: its rates, its check by Little's law, and what it shows to be wrong."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from assay.analysis.absence import Absent
from assay.analysis.aggregates import Scope, aggregate
from assay.analysis.call_types import one_call_type
from assay.analysis.documents import Aggregate
from assay.analysis.gaps import gap
from assay.analysis.littles_law import LittlesLaw, littles_law, littles_law_document
from assay.analysis.load_windows import LoadWindow
from assay.analysis.rates import throughputs
from assay.analysis.scoring_rates import scoring_throughputs
from assay.analysis.steady import OVERLOADED
from assay.analysis.window import Window
from assay.analysis.wire.attempt import Attempt
from experiments.schema.workload import CallType
from runners.protocol.documents import Gap


def window_rates(
    attempts: Sequence[Attempt],
    one: LoadWindow,
    scope: Scope,
    *,
    superseded: Collection[str] = (),
) -> list[Aggregate]:
    """The rates of one window, with Little's law beside them; a stage's population names it."""
    window = one.window
    if one.stage is not None:
        scope = replace(scope, population=f"{scope.population}, {one.stage}")
    if one_call_type(attempts, field="attempts of a rate") is CallType.generation:
        found = throughputs(attempts, window, scope, superseded=superseded)
    else:
        found = scoring_throughputs(attempts, window, scope)
    law = littles_law(attempts, window) if isinstance(window, Window) else window
    found.append(_littles_law(law, of=len(attempts), window=window, scope=scope))
    if isinstance(window, Window):
        for entry in found:
            entry["window_ns"] = [window.from_ns, window.to_ns]
    return found


def _littles_law(
    law: LittlesLaw | Absent, *, of: int, window: Window | Absent, scope: Scope
) -> Aggregate:
    """How far rate times latency is from the number in flight, relative to the larger."""
    named = replace(
        scope,
        population=f"attempts ended in the window, {scope.population}",
        denominator="window" if isinstance(window, Absent) else f"window: {window.chosen}",
    )
    value = law if isinstance(law, Absent) else law.relative_difference
    n = 0 if isinstance(law, Absent) else law.ended
    return aggregate("littles_law.difference", "ratio", "1", value, n=n, of=of, scope=named)


def window_gaps(attempts: Sequence[Attempt], windows: Sequence[LoadWindow]) -> list[Gap]:
    """What the windows themselves show to be wrong: an overload, or sides of Little's law that disagree."""
    found = []
    for one in windows:
        where = f"{one.stage}: " if one.stage else ""
        if isinstance(one.window, Absent):
            if one.window.reason.startswith(OVERLOADED):
                found.append(
                    gap(
                        f"{where}{one.window.reason}",
                        affects="every rate: throughput depends on how long one looks",
                        needed="a run at a lower offered rate",
                    )
                )
            continue
        law = littles_law(attempts, one.window)
        if isinstance(law, LittlesLaw) and not law.holds:
            found.append(
                gap(
                    where + law.sentence(),
                    affects="every rate of this window",
                    needed="a longer or steadier window",
                )
            )
    return found


def window_document(attempts: Sequence[Attempt], one: LoadWindow) -> dict[str, Any]:
    """A window as JSON with its check by Little's law, or the reason why there is none."""
    window = one.window
    if isinstance(window, Absent):
        return {
            "stage": one.stage,
            "from_ns": None,
            "to_ns": None,
            "chosen": None,
            "absent": window.reason,
            "littles_law": littles_law_document(window),
        }
    return {
        "stage": one.stage,
        "from_ns": window.from_ns,
        "to_ns": window.to_ns,
        "chosen": window.chosen,
        "absent": None,
        "littles_law": littles_law_document(littles_law(attempts, window)),
    }
