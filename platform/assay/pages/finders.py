"""The one file of the plotly package that pages need, served as ``vendor/plotly.min.js``.

Taken from the installed package, so that the library and the Python side never drift and no copy is kept.
"""

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

PREFIX = "vendor"
NAME = "plotly.min.js"


class PlotlyFinder(BaseFinder):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        spec = find_spec("plotly")
        if spec is None or spec.origin is None:
            raise FileNotFoundError("the plotly package is not installed")
        self.storage = FileSystemStorage(location=Path(spec.origin).parent / "package_data")
        self.storage.prefix = PREFIX  # type: ignore[attr-defined]  # collectstatic reads it

    def check(self, **kwargs: Any) -> list[Any]:
        return []

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        if path != f"{PREFIX}/{NAME}":
            return []
        found = self.storage.path(NAME)
        return [found] if find_all else found

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterable[Any]:
        yield NAME, self.storage
