"""``assay token``: what stands for a person towards the API and ``assay --server``."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.cli.database import open_or_complain
from assay.cli.exits import DONE, print_json, refuse
from experiments.errors import Refusal
from experiments.errors import refuse as refusal_of

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from assay.accounts.models import Action

HELP = (
    "Make a token (`new NAME --scopes view,write`), list tokens, take one back (`revoke ID`). A new token is "
    "printed once; put it into ASSAY_TOKEN."
)
ALL = "view,write,review,manage"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("new", "list", "revoke"))
    parser.add_argument("what", nargs="?", help="new: a name for it; revoke: its id")
    parser.add_argument("--scopes", default="view,write", help=f"new: of {ALL}")
    parser.add_argument("--days", type=int, default=90, help="new: how long it works")
    parser.add_argument("--user", help="whose (default: whoever sits at this machine)")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    if (code := open_or_complain()) is not None:
        return code
    try:
        if arguments.action == "new":
            return _new(arguments)
        if arguments.action == "revoke":
            _revoke(arguments)
    except Refusal as refusal:
        return refuse(refusal.findings, as_json=arguments.json)
    return _list(arguments)


def _new(arguments: argparse.Namespace) -> int:
    from assay.accounts import tokens

    issued = tokens.new_token(
        _user(arguments),
        name=arguments.what or "",
        scopes=_scopes(arguments.scopes.split(",")),
        days=arguments.days,
    )
    if arguments.json:
        print_json({**tokens.token_object(issued.token), "secret": issued.secret})
    else:
        print(issued.secret)  # noqa: T201 - shown now and never again
    return DONE


def _revoke(arguments: argparse.Namespace) -> None:
    from assay.accounts import tokens

    text = arguments.what or ""
    if not (text.isdecimal() and tokens.revoke(_user(arguments), int(text))):
        raise refusal_of(
            field="token",
            seen=text or "none",
            allowed="the id of a token of that person",
            remedy="`assay token list` shows them.",
        )


def _list(arguments: argparse.Namespace) -> int:
    from assay.accounts import tokens

    rows = [tokens.token_object(token) for token in tokens.tokens_of(_user(arguments))]
    if arguments.json:
        print_json({"tokens": rows})
        return DONE
    for row in rows:
        scopes = ",".join(row["scopes"])
        until = row["expires_at"][:10]
        print(  # noqa: T201
            f"{row['token']}  {row['beginning']}...  {row['state']}  until {until}  {scopes}  {row['name']}"
        )
    return DONE


def _user(arguments: argparse.Namespace) -> "User":
    from assay.accounts.people import person
    from assay.accounts.services import local_user

    return person(arguments.user) if arguments.user else local_user()


def _scopes(words: Sequence[str]) -> "list[Action]":
    from assay.accounts.models import Action

    if unknown := [w for w in words if w not in Action.values]:
        raise refusal_of(
            field="scopes", seen=",".join(unknown), allowed=ALL, remedy="Part them by commas."
        )
    return [Action(w) for w in words]
