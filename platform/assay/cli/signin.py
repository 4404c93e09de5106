"""``assay signin``: a link that signs in whoever sits at this machine."""

import argparse
import os

from assay.cli.database import open_or_complain
from assay.cli.exits import DONE, REFUSED, complain
from assay.cli.sign_in_link import print_link
from assay.cli.web import port_number

HELP = "Print a link that signs you in to the dashboard of this machine, once, within 15 minutes."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address of the dashboard")
    parser.add_argument("--port", type=port_number, default=8000, help="port of the dashboard")


def run(arguments: argparse.Namespace) -> int:
    if (code := open_or_complain()) is not None:
        return code
    if "ASSAY_HOSTS" in os.environ:
        complain(
            "ASSAY_HOSTS: is set (allowed: unset, for a dashboard of one person). "
            "People sign in with name and password: `assay account add NAME`"
        )
        return REFUSED
    print_link(arguments.host, arguments.port)
    return DONE
