"""Whoever asks: who they are here, what they may do where, and their tokens."""

from typing import Annotated, Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field

from assay.accounts import tokens
from assay.accounts.models import Action, ApiToken
from assay.api.doors import access_of, in_person, may
from assay.api.errors import answers
from assay.api.paging import Paged, Paging, part_of, place
from assay.api.texts import Words

router = Router(tags=["people"])


class ProjectOut(Schema):
    """``actions``: what whoever asks may do there."""

    project: str
    name: str
    team: str
    actions: list[Action]


class Me(Schema):
    name: str
    scopes: list[Action]
    administrator: bool
    projects: list[ProjectOut]


class TokenOut(Schema):
    token: int
    name: str
    beginning: str
    scopes: list[str]
    state: str
    created_at: str
    expires_at: str
    last_used_at: str | None


class TokensOut(Paged):
    tokens: list[TokenOut]


class WantedToken(Schema):
    name: Words
    scopes: Annotated[list[Action], Field(min_length=1, max_length=4)]
    days: Annotated[int, Field(ge=1, le=tokens.LONGEST_LIFE_DAYS)] = 90


class IssuedToken(TokenOut):
    """``secret`` is shown now and never again."""

    secret: str


@router.get("/me", response=answers(Me))
def get_me(request: HttpRequest) -> dict[str, Any]:
    """Who the token or session stands for, and what it may do where."""
    access = access_of(request)
    return {
        "name": access.user.get_username(),
        "scopes": sorted(access.scopes),
        "administrator": access.everywhere,
        "projects": [
            {
                "project": project.slug,
                "name": project.name,
                "team": project.team.slug,
                "actions": [action for action in Action if access.may(action, project.id)],
            }
            for project in access.projects()
        ],
    }


@router.get("/tokens", response=answers(TokensOut))
def list_tokens(request: HttpRequest, paging: Query[Paging]) -> dict[str, Any]:
    """One's own tokens, newest first; never the tokens themselves."""
    part = part_of(tokens.tokens_of(_user(request)), paging)
    rows = [tokens.token_object(token) for token in part.rows]
    return {"tokens": rows, **place(paging, part.total)}


@router.post("/tokens", response=answers(IssuedToken, status=201), auth=in_person(Action.view))
def new_token(request: HttpRequest, wanted: WantedToken) -> Status[Any]:
    """Only for whoever is signed in to the pages: a token that leaked must not be able to renew itself."""
    issued = tokens.new_token(
        _user(request), name=wanted.name, scopes=wanted.scopes, days=wanted.days
    )
    return Status(201, {**tokens.token_object(issued.token), "secret": issued.secret})


@router.delete("/tokens/{int:token_id}", response=answers(None, status=204), auth=may(Action.view))
def revoke_token(request: HttpRequest, token_id: int) -> Status[Any]:
    """One's own; from then on it stands for nobody. A token ends itself and no other."""
    own: ApiToken | None = getattr(request, "token", None)
    if own is not None and own.pk != token_id:
        raise PermissionDenied("a session of the pages")
    if not tokens.revoke(_user(request), token_id):
        raise Http404
    return Status(204, None)


def _user(request: HttpRequest) -> Any:
    return access_of(request).user
