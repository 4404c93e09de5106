"""How often the regression rule is right, on synthetic series of which the truth is known.

    python benchmarks/detection.py [--series 20000] [--noise 0.02] [--seed 1] [--peers 2000]
                                   [--otava-python PYTHON]

Each series is 12 baseline starts and 5 scheduled ones; whatever happens, happens at the first scheduled
start. The rule is the platform's own (``assay.analysis.regression``), fresh starts included; they are drawn
from the truth of their side: the baseline's environment for A, the new one for B. Beside it, on the first
--peers series of each kind: PELT (``ruptures``) and Mann-Whitney (``scipy``) as they are commonly applied to
a series of results, and Apache Otava when a Python that has it is named.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import ruptures
from scipy import stats

from assay.analysis.regression.answers import Answer, Better
from assay.analysis.regression.baseline import baseline_of
from assay.analysis.regression.check import Watched, check
from assay.analysis.regression.investigation import Ask, Fresh
from assay.analysis.regression.series import Start, differences

BASELINE, SCHEDULED = 12, 5
LEVEL = 100.0
WATCHED = Watched(metric="tpot.last_token p50", better=Better.less)
METRIC = WATCHED.metric
Random = np.random.Generator
Noise = Callable[[Random], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """``shift(k)`` is the true relative change at scheduled start k (0 to 4); ``noise`` is of unit scale."""

    name: str
    noise: Noise
    shift: Callable[[int], float]
    machine: bool = False  # the identity changes with it
    is_change: bool = False  # a change that should be confirmed


def normal(random: Random) -> float:
    return float(random.standard_normal())


def heavy(random: Random) -> float:
    """Student's t with 3 degrees of freedom, at the standard deviation of one."""
    return float(random.standard_t(3)) / 3**0.5


def with_outliers(random: Random) -> float:
    """One start in twenty is off by ten standard deviations."""
    return normal(random) + (10.0 if random.random() < 0.05 else 0.0)


KINDS = (
    Kind(name="flat", noise=normal, shift=lambda _: 0.0),
    Kind(name="flat, heavy tails", noise=heavy, shift=lambda _: 0.0),
    Kind(name="flat, outliers", noise=with_outliers, shift=lambda _: 0.0),
    Kind(name="machine change", noise=normal, shift=lambda _: 0.10, machine=True),
    Kind(name="step 2 %", noise=normal, shift=lambda _: 0.02),
    Kind(name="step 5 %", noise=normal, shift=lambda _: 0.05, is_change=True),
    Kind(name="step 5 %, heavy tails", noise=heavy, shift=lambda _: 0.05, is_change=True),
    Kind(name="step 10 %", noise=normal, shift=lambda _: 0.10, is_change=True),
    Kind(name="drift 1 % a start", noise=normal, shift=lambda k: 0.01 * (k + 1)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    answers: tuple[Answer, ...]
    extra_starts: int
    suspicions: int

    @property
    def confirmed(self) -> bool:
        return Answer.confirmed in self.answers or Answer.improved in self.answers


def follow(kind: Kind, random: Random, noise: float) -> tuple[list[float], Outcome]:
    """The values of one series and what the platform's rule makes of it, start by start."""

    def draw(shift: float) -> float:
        return LEVEL * (1 + shift) * (1 + noise * kind.noise(random))

    values = [draw(0.0) for _ in range(BASELINE)]
    baseline = baseline_of(values)
    before, after = {"device": "one"}, {"device": "other" if kind.machine else "one"}
    since: list[float] = []
    answers: list[Answer] = []
    extra = suspicions = 0
    for k in range(SCHEDULED):
        shift = kind.shift(k)
        since.append(draw(shift))
        newest = Start(run=f"run {k}", ended=True, identity=after, values={METRIC: since[-1]})
        fresh = Fresh()
        while True:
            seen = check(
                WATCHED,
                newest,
                baseline=baseline,
                since=since,
                differences=differences(before, after),
                fresh=fresh,
            )
            ask = seen.step.ask if seen.step is not None else Ask.nothing
            if ask is Ask.repeat:
                fresh = Fresh(repeats=(*fresh.repeats, draw(shift)), pairs=fresh.pairs)
            elif ask is Ask.pair:
                fresh = Fresh(repeats=fresh.repeats, pairs=(*fresh.pairs, (draw(0.0), draw(shift))))
            else:
                break
        extra += fresh.starts
        suspicions += seen.suspicion is not None
        answers.append(seen.answer)
        if seen.answer in (Answer.confirmed, Answer.improved):
            break
    values += since + [draw(kind.shift(k)) for k in range(len(since), SCHEDULED)]
    return values, Outcome(answers=tuple(answers), extra_starts=extra, suspicions=suspicions)


def pelt(values: list[float]) -> bool:
    """A change point in the last five, of more than 3 %, by PELT with the usual penalty 3 log n."""
    n = len(values)
    scale = statistics.stdev(values[:BASELINE])
    signal = np.asarray(values) / scale
    ends = ruptures.Pelt(model="l2", min_size=2, jump=1).fit(signal).predict(pen=3 * np.log(n))
    return any(
        at >= BASELINE - 1
        and abs(statistics.mean(values[at:]) / statistics.mean(values[:at]) - 1) > 0.03
        for at in ends[:-1]
    )


def mann_whitney(values: list[float]) -> bool:
    """The five against the twelve at p < 0.01, and 3 % between the medians."""
    before, after = values[:BASELINE], values[BASELINE:]
    change = statistics.median(after) / statistics.median(before) - 1
    return bool(stats.mannwhitneyu(before, after).pvalue < 0.01) and abs(change) > 0.03


OTAVA = """
import json, sys
from otava.analysis import compute_change_points
for line in sys.stdin:
    values = json.loads(line)
    points, _ = compute_change_points(values, window_len=17, max_pvalue=0.001, min_magnitude=0.03)
    print(int(any(p.index >= 11 for p in points)))
"""


def otava(python: str, series: list[list[float]]) -> list[bool]:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [python, "-c", OTAVA],
            input="\n".join(map(json.dumps, series)),
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(folder),
        )
    return [line == "1" for line in done.stdout.split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=20_000)
    parser.add_argument("--noise", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peers", type=int, default=2_000)
    parser.add_argument("--otava-python")
    asked = parser.parse_args()
    peers = ["PELT, 3 %", "Mann-Whitney, 3 %", *(["Otava, 3 %"] if asked.otava_python else [])]
    print(
        f"{asked.series} series a kind, noise {asked.noise:.1%}, {asked.peers} of them for the others"
    )
    print(f"| kind | confirmed | suspects a start | extra starts a series | {' | '.join(peers)} |")
    print("|---|---|---|---|" + "---|" * len(peers))
    for number, kind in enumerate(KINDS):
        random = np.random.default_rng([asked.seed, number])
        confirmed = extra = looked = suspicions = 0
        shown: list[list[float]] = []
        for _ in range(asked.series):
            values, outcome = follow(kind, random, asked.noise)
            confirmed += outcome.confirmed
            extra += outcome.extra_starts
            suspicions += outcome.suspicions
            looked += len(outcome.answers)
            if len(shown) < asked.peers:
                shown.append(values)
        found = [[pelt(v) for v in shown], [mann_whitney(v) for v in shown]]
        if asked.otava_python:
            found.append(otava(asked.otava_python, shown))
        others = " | ".join(f"{1000 * sum(f) / len(f):.1f}" for f in found)
        print(
            f"| {kind.name} | {1000 * confirmed / asked.series:.1f} | "
            f"{suspicions / looked:.1%} | {extra / asked.series:.2f} | {others} |",
            flush=True,
        )
    print("confirmed and the others: series of 1,000 in which a change was reported")


if __name__ == "__main__":
    main()
