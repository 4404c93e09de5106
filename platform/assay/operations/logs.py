"""The log of the platform's own processes: text for people, or one JSON object a line.

A line never carries the content of a run: nothing of the platform logs prompts, answers, headers or tokens.
"""

import logging
import os
from collections.abc import Mapping
from typing import Any

from experiments.errors import refuse

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
FORMATS = ("text", "json")


def configuration(environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Django's LOGGING. Raises Refusal for a level or format that there is not."""
    level = _one_of(environment, "ASSAY_LOG_LEVEL", LEVELS, "WARNING")
    form = _one_of(environment, "ASSAY_LOG_FORMAT", FORMATS, "text")
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "json": {"()": "assay.operations.logs.json_lines"},
            "text": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"},
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": form}},
        "root": {"handlers": ["stderr"], "level": level},
        # Django's own handlers would say everything twice, and mail it.
        "loggers": {"django": {"handlers": [], "propagate": True}},
    }


def _one_of(
    environment: Mapping[str, str], name: str, allowed: tuple[str, ...], default: str
) -> str:
    seen = environment.get(name, "") or default
    if seen not in allowed:
        raise refuse(field=name, seen=seen, allowed=", ".join(allowed), remedy=f"Unset {name}")
    return seen


def json_lines() -> logging.Formatter:
    """time, level, logger, event, what a call named by ``extra=``, and an exception's frames as data."""
    import structlog  # only where it is asked for: every command reads the settings

    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_logger_name,
            structlog.stdlib.add_log_level,
            structlog.stdlib.ExtraAdder(allow=_NAMED),
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.ExceptionRenderer(
                structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
            ),
            structlog.processors.JSONRenderer(sort_keys=True, default=str),
        ],
    )


# What a line may name beside its words; anything else (Django's request with its headers) stays out.
_NAMED = ("run", "execution", "bundle", "study", "worker", "queue", "status_code", "archive")
