"""The fields of the launch form: the common overrides, and the settings of the chosen engine."""

import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

from django.utils.translation import gettext_lazy as _

from experiments.schema import fields as schema
from experiments.schema.engine import ENGINE_SCHEMAS
from experiments.schema.roles import Role

SETTINGS = "engine.settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One override by its path. ``options`` are the words it takes, if it takes words only."""

    path: str
    label: Any
    options: tuple[str, ...] = ()
    numeric: bool = False
    wide: bool = False

    @property
    def allowed(self) -> str:
        member = schema.find(self.path)
        return member.allowed if member else ""


def _number(path: str, label: Any) -> Field:
    return Field(path=path, label=label, numeric=True)


def _flag(path: str, label: Any) -> Field:
    return Field(path=path, label=label, options=("true", "false"))


# Heading, whether it is folded at first, inputs.
COMMON: tuple[tuple[Any, bool, tuple[Field, ...]], ...] = (
    (
        _("Load"),
        False,
        (
            _number("load.concurrency", _("Concurrency")),
            _number("load.rate_per_s", _("Rate, requests/s")),
            _number("load.think_time_s", _("Think time, s")),
            _number("load.drain_s", _("Drain, s")),
            _number("load.seed", _("Seed of arrivals")),
        ),
    ),
    (
        _("Workload"),
        False,
        (
            _number("workload.requests", _("Requests")),
            _number("workload.input_tokens", _("Input, tokens")),
            _number("workload.output_tokens", _("Output, tokens")),
            _number("workload.shared_prefix_tokens", _("Shared prefix, tokens")),
            _number("workload.warmup_requests", _("Warm-up requests")),
            _number("workload.seed", _("Seed of prompts")),
        ),
    ),
    (
        _("Contract"),
        True,
        (
            _number("contract.slo.ttft_s", _("TTFT within, s")),
            _number("contract.slo.tpot_s", _("TPOT within, s")),
            _number("contract.deadline_s", _("Deadline of a task, s")),
        ),
    ),
    (
        _("Evidence"),
        True,
        (
            _flag("evidence.trace.enabled", _("Trace after the measured window")),
            _flag("evidence.calibrate_client", _("Calibrate the client before")),
        ),
    ),
)
REPEATING: tuple[Field, ...] = (
    _number("study.repetitions", _("Repetitions, each a fresh start")),
    Field(path="study.order", label=_("Order"), options=("seeded", "declared")),
    _number("study.seed", _("Seed of the order")),
)
SAYING: tuple[Field, ...] = (
    Field(path="study.name", label=_("Name")),
    Field(path="study.title", label=_("Title"), wide=True),
    Field(path="study.question", label=_("Question"), wide=True),
)


def engine_fields(key: str) -> tuple[Field, ...]:
    """Every setting of an engine that is one value; lists and nested ones are written as free overrides."""
    config = ENGINE_SCHEMAS.get(key)
    if config is None:
        return ()
    settings = typing.get_type_hints(config)["settings"]
    hints = typing.get_type_hints(settings)
    found = []
    for member in fields(settings):
        hint = _bare(hints[member.name])
        if member.metadata["role"] == Role.context or not _is_scalar(hint):
            continue
        found.append(
            Field(
                path=f"{SETTINGS}.{member.name}",
                label=member.name,
                options=_options(hint),
                numeric=hint in (int, float),
            )
        )
    return tuple(found)


def all_fields(engine: str) -> list[Field]:
    """Every field of the form while this engine is chosen."""
    common = [field for _label, _folded, block in COMMON for field in block]
    return [*common, *REPEATING, *SAYING, *engine_fields(engine)]


def in_effect(document: Mapping[str, Any], path: str) -> Any:
    """What the resolved declaration has under a path; None where there is none."""
    node: Any = document
    for part in path.split("."):
        node = node.get(part) if isinstance(node, Mapping) else None
    return node


def _bare(hint: Any) -> Any:
    """The type without its null."""
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return next(a for a in typing.get_args(hint) if a is not type(None))
    return hint


def _is_scalar(hint: Any) -> bool:
    return hint in (int, float, str, bool) or (isinstance(hint, type) and issubclass(hint, Enum))


def _options(hint: Any) -> tuple[str, ...]:
    if hint is bool:
        return ("true", "false")
    if isinstance(hint, type) and issubclass(hint, Enum):
        return tuple(str(choice.value) for choice in hint)
    return ()
