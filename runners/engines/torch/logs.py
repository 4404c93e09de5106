"""Log lines of both processes, for people and as evidence: one fact a line, on standard output.

``LABEL: {json}`` lines are the echo that the run's identity points to; ``log_reader`` finds them again.
"""

import json
import logging
import sys
import time

LOGGER = "assay.torch"


class _Formatter(logging.Formatter):
    @staticmethod
    def converter(timestamp: float | None) -> time.struct_time:
        return time.gmtime(timestamp)

    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"


def configure(process: str) -> logging.Logger:
    """Every line: UTC time to the millisecond, level, process and pid, message."""
    handler = logging.StreamHandler(sys.stdout)
    form = f"%(asctime)s %(levelname)-7s [{process} %(process)d] %(message)s"
    handler.setFormatter(_Formatter(form))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logger = logging.getLogger(LOGGER)
    logger.setLevel(logging.INFO)
    return logger


def echo(logger: logging.Logger, label: str, value: object) -> None:
    logger.info("%s: %s", label, json.dumps(value, sort_keys=True, default=str))
