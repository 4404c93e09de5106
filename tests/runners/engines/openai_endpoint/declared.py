"""Declarations of an endpoint, as ``assay load`` makes them."""

from typing import Any

from experiments.quick_look import QuickLook, declaration
from experiments.schema.load import LoadKind


def spec(url: str = "http://127.0.0.1:8999", **more: Any) -> dict[str, Any]:
    asked: dict[str, Any] = {
        "url": url,
        "model": "small",
        "kind": LoadKind.closed,
        "concurrency": 2,
        "rate_per_s": None,
        "requests": 4,
        "input_tokens": 8,
        "output_tokens": 3,
        "drain_s": 5.0,
    }
    return declaration(QuickLook(**{**asked, **more}))
