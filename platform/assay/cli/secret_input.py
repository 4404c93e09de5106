"""A password as people type it: twice at a terminal, or one line of standard input; never an argument."""

import getpass
import sys

from experiments.errors import refuse


def new_password() -> str:
    """Raises experiments.errors.Refusal for two that differ, and for none at all."""
    if not sys.stdin.isatty():
        first = sys.stdin.readline().rstrip("\n")
    else:
        first = getpass.getpass("password: ")
        if first != getpass.getpass("again: "):
            raise refuse(
                field="password",
                seen="two different ones",
                allowed="the same twice",
                remedy="Type it again.",
            )
    if not first:
        raise refuse(
            field="password",
            seen="nothing",
            allowed="one line, typed or on standard input",
            remedy='Try `printf %s "$SECRET" | assay account password NAME`, or type it.',
        )
    return first
