"""A run's place among the runs of its study, by which their prompts are kept apart."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """``position`` counts from 0 in the study's recorded order, repetitions included."""

    position: int
    runs: int


ONLY = Place(position=0, runs=1)


def place_of(context: Mapping[str, Any]) -> Place:
    """What the run was told of its place; a run that was told nothing is a study of one."""
    position = int(context.get("position", 0))
    return Place(position=position, runs=max(int(context.get("runs", 1)), position + 1))


def prompt_seed(workload: Mapping[str, Any], place: Place) -> int:
    """The seed of the run's prompts: the declared one for the first run, one derived of it for each other.

    Runs whose prompts may be alike (``workload.disjoint`` is not ``cells``) all have the declared one.
    """
    seed = int(workload["seed"])
    if workload["disjoint"] != "cells" or place.position == 0:
        return seed
    digest = hashlib.sha256(f"prompts/{seed}/{place.position}".encode()).digest()
    return int.from_bytes(digest[:6], "big")
