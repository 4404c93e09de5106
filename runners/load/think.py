"""How long a worker of a closed loop thinks between the end of a request and its next one."""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from runners.protocol.errors import Finding, Refused

_CONSTANT, _EXPONENTIAL, _LOGNORMAL = "constant", "exponential", "lognormal"
_LEAST = 2.0**-54


@dataclass(frozen=True, slots=True, kw_only=True)
class Think:
    """Think times of mean ``mean_s``, each drawn from the seed and a name, in any order alike."""

    mean_s: float
    kind: str = _CONSTANT
    cv: float | None = None
    seed: int = 0

    @classmethod
    def from_load(cls, load: Mapping[str, Any]) -> "Think":
        kind = str(load.get("think_time") or _CONSTANT)
        if kind not in (_CONSTANT, _EXPONENTIAL, _LOGNORMAL):
            raise _refused("load.think_time", kind, "constant, exponential, lognormal")
        if kind == _LOGNORMAL and not (load["think_cv"] or 0) > 0:
            raise _refused("load.think_cv", load["think_cv"], "above 0 with lognormal think times")
        return cls(
            mean_s=load["think_time_s"], kind=kind, cv=load.get("think_cv"), seed=load["seed"]
        )

    def ns(self, name: str) -> int:
        """The think time of this name.

        Exponential: -ln(1 - u) mean. Lognormal of mean m and coefficient of variation c:
        m exp(s z - s^2 / 2), s^2 = ln(1 + c^2).
        """
        if self.kind == _CONSTANT or not self.mean_s:
            return round(self.mean_s * 1e9)
        draw = random.Random(f"{self.seed}/think/{name}").random()
        if self.kind == _EXPONENTIAL:
            return round(-math.log1p(-draw) * self.mean_s * 1e9)
        variance = math.log1p((self.cv or 0.0) ** 2)
        z = NormalDist().inv_cdf(max(draw, _LEAST))
        return round(self.mean_s * math.exp(math.sqrt(variance) * z - variance / 2) * 1e9)


def _refused(field: str, seen: object, allowed: str) -> Refused:
    return Refused(
        Finding(field=field, seen=str(seen), allowed=allowed, remedy="Change the load group.")
    )
