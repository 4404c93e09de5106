"""Is a declared price one: an amount of a currency, for a unit, as of a day, with whose it is?"""

import math
import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from experiments.errors import Finding

_CURRENCY = re.compile(r"[A-Z]{3}")


def check(document: Mapping[str, Any]) -> Iterator[Finding]:
    """Everything that is wrong with ``device.price``; nothing where none is declared."""
    price = document["device"].get("price")
    if price is None:
        return
    amount = price["amount"]
    if not 0 < amount < math.inf:
        yield _finding("amount", amount, "a number above 0", "Leave the price out if it is free.")
    if not _CURRENCY.fullmatch(price["currency"]):
        yield _finding(
            "currency", price["currency"], "three capital letters (ISO 4217)", "Write USD or EUR."
        )
    if not _is_day(price["as_of"]):
        yield _finding(
            "as_of", price["as_of"], "a day as 2026-11-30", "Prices change: say when it held."
        )
    if not price["source"].strip():
        yield _finding("source", price["source"], "whose price it is", "Name the list or contract.")


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _finding(name: str, seen: object, allowed: str, remedy: str) -> Finding:
    return Finding(field=f"device.price.{name}", seen=str(seen), allowed=allowed, remedy=remedy)
