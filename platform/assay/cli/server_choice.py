"""Whether a verb works here or on a server: ``assay --server URL VERB``, or ASSAY_SERVER.

Strings only: no verb that works here pays for the client.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

OPTION = "--server"
VARIABLE = "ASSAY_SERVER"
TOKEN = "ASSAY_TOKEN"

# verb -> what does it on a server: "module:function", given the server and the verb's own arguments
SERVED: dict[str, str] = {
    "list": "assay.cli.server_runs:list_runs",
    "show": "assay.cli.server_runs:show",
    "cancel": "assay.cli.server_runs:cancel",
    "ledgers": "assay.cli.server_runs:ledgers",
    "submit": "assay.cli.server_submit:submit",
    "export": "assay.cli.server_bundles:export",
    "verify": "assay.cli.server_bundles:verify",
    "compare": "assay.cli.server_compare:compare",
    "schedule": "assay.cli.server_schedules:schedule",
    "regress": "assay.cli.server_regress:regress",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """``url`` is empty for this machine. ``asked``: it stands on the command line, not in the environment."""

    url: str
    asked: bool
    rest: Sequence[str]

    def serves(self, verb: str) -> bool:
        return bool(self.url) and verb in SERVED


def chosen(arguments: Sequence[str]) -> Choice:
    """The option may only come first: behind a verb it is the verb's own."""
    first, *rest = arguments or [""]
    if first == OPTION and rest:
        return Choice(url=rest[0], asked=True, rest=rest[1:])
    if first.startswith(f"{OPTION}="):
        return Choice(url=first.partition("=")[2], asked=True, rest=rest)
    return Choice(url=os.environ.get(VARIABLE, ""), asked=False, rest=arguments)
