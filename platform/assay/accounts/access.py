"""What one person, or one of their tokens, may do and where. Asked once a request, with one query at most."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from assay.accounts.models import Action, Project, Role

ALLOWED: dict[Role, frozenset[Action]] = {
    Role.viewer: frozenset({Action.view}),
    Role.author: frozenset({Action.view, Action.write}),
    Role.reviewer: frozenset({Action.view, Action.write, Action.review}),
    Role.maintainer: frozenset(Action),
}


@dataclass(frozen=True, kw_only=True)
class Access:
    """``scopes`` narrows what the role allows: all actions in a session, a token's own over the API."""

    user: AbstractBaseUser | AnonymousUser
    scopes: frozenset[Action] = frozenset(Action)

    @property
    def everywhere(self) -> bool:
        """True for whoever runs the installation: no project is hidden from them."""
        return bool(self.user.is_active and getattr(self.user, "is_superuser", False))

    def may(self, action: Action, project_id: UUID) -> bool:
        if action not in self.scopes:
            return False
        return self.everywhere or action in ALLOWED.get(self._roles.get(project_id), frozenset())  # type: ignore[arg-type]

    def anywhere(self, action: Action) -> bool:
        """Whether there is any project in which that may be done."""
        if action not in self.scopes:
            return False
        return self.everywhere or any(action in ALLOWED[r] for r in self._roles.values())

    def projects(self, action: Action = Action.view) -> list[Project]:
        """The projects in which that may be done, by name."""
        if action not in self.scopes:
            return []
        found = Project.objects.select_related("team").order_by("name")
        if not self.everywhere:
            found = found.filter(id__in=self.project_ids(action))
        return list(found)

    def project_ids(self, action: Action = Action.view) -> list[UUID]:
        """The same as ids, for those who are not everywhere."""
        if action not in self.scopes:
            return []
        return [project for project, role in self._roles.items() if action in ALLOWED[role]]

    @cached_property
    def _roles(self) -> dict[UUID, Role]:
        if not self.user.is_active or self.user.pk is None:
            return {}
        found = Project.objects.filter(team__memberships__user_id=self.user.pk)
        pairs: Iterable[tuple[UUID, str]] = found.values_list("id", "team__memberships__role")
        return {project: Role(role) for project, role in pairs}
