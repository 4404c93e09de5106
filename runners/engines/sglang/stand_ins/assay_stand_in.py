"""Makes a module stand in for a package that is not there: any name of it can be imported, none can be used.

It is imported by the engine's own interpreter: standard library only.
"""

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

WARNING = "is an empty stand-in; this is not a supported configuration of SGLang"


class _Name(type):
    """A name of the absent package, and whatever is asked of it; calling it is an error."""

    def __getattr__(cls, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return _name(f"{cls.__module__}.{cls.__name__}.{attribute}")

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        raise RuntimeError(f"{cls.__module__}.{cls.__name__} {WARNING}")


def _name(full: str) -> Any:
    module, _, last = full.rpartition(".")
    return _Name(last, (), {"__module__": module})


class _Module(ModuleType):
    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return _name(f"{self.__name__}.{attribute}")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module below one package."""

    def __init__(self, package: str) -> None:
        self._below = f"{package}."

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(self._below):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing in it."""


def say(package: str) -> None:
    """Into the engine's log, by each process that imports it."""
    sys.stderr.write(f"assay: {package} {WARNING}\n")


def stand_in(package: str) -> None:
    """Called by the module that stands in, as it is imported."""
    say(package)
    sys.modules[package].__class__ = _Module
    sys.meta_path.append(_Finder(package))
