"""A declared share of the load is cancelled, the same requests every time."""

from itertools import islice
from typing import Any

import pytest

from runners.load.cancels import cancels
from tests.experiments.declarations import changed, example
from tests.runners.load.test_materialise import made, rows

RULE = {"after_chunks": 3, "after_s": None}


def drawn(share: float, seed: int = 0, count: int = 2000) -> list[bool]:
    workload: dict[str, Any] = {"cancel": RULE, "cancel_share": share, "seed": seed}
    return [rule is not None for rule in islice(cancels(workload), count)]


@pytest.mark.req("8.25")
def test_the_share_is_drawn_from_the_seed_and_a_higher_one_keeps_the_former() -> None:
    quarter, half = drawn(0.25), drawn(0.5)

    # Binomial with n 2000 and p 0.25: 500 expected, standard deviation 19.4; four of them are 78.
    assert abs(sum(quarter) - 500) < 78
    assert quarter == drawn(0.25)
    assert quarter != drawn(0.25, seed=1)
    assert all(more for less, more in zip(quarter, half, strict=True) if less)
    assert not any(drawn(0.0))
    assert all(drawn(1.0))


@pytest.mark.req("8.25")
def test_the_plan_names_each_request_that_will_be_cancelled() -> None:
    document = changed(example(), "workload.cancel_share", 0.5)
    document = changed(document, "workload.cancel", RULE)

    load = rows(made(document), "load")

    marked = [row["cancel_after_chunks"] for row in load]
    assert marked == [3 if yes else None for yes in drawn(0.5, document["workload"]["seed"], 16)]
    assert 0 < marked.count(3) < 16
    # Nothing else moved: the same prompts at the same places as without cancels.
    without = rows(made(example()), "load")
    assert [r["prompt_ref"] for r in load] == [r["prompt_ref"] for r in without]
