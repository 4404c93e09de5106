"""Projects: making them, and finding the one that a person names."""

from assay.accounts.access import Access
from assay.accounts.models import Action, Project, Team
from assay.accounts.slugs import checked_slug
from experiments.errors import refuse


def add_project(team: Team, slug: str, *, name: str = "") -> Project:
    """Raises Refusal for a name that is taken or cannot stand in an address."""
    return Project.objects.create(
        slug=checked_slug("project", slug, taken=Project.objects.filter(slug=slug)),
        name=name or slug,
        team=team,
    )


def project_named(slug: str) -> Project:
    """Any project, for whoever may see them all: the command line. Raises Refusal."""
    found = Project.objects.filter(slug=slug).first()
    if found is None:
        known = Project.objects.order_by("slug").values_list("slug", flat=True)
        raise refuse(
            field="project",
            seen=slug,
            allowed=f"one of {', '.join(known)}",
            remedy="`assay project add SLUG` makes one.",
        )
    return found


def writable_project(access: Access, slug: str) -> Project:
    """The project of that name if this person may put a study there. Raises Refusal with those they may."""
    return _project(access, slug, Action.write, "A maintainer of its team can make you an author.")


def manageable_project(access: Access, slug: str) -> Project:
    """The project of that name if this person may have schedules there. Raises Refusal, as above."""
    remedy = "A maintainer of its team can do it, or make you one."
    return _project(access, slug, Action.manage, remedy)


def _project(access: Access, slug: str, action: Action, remedy: str) -> Project:
    own = access.projects(action)
    found = next((project for project in own if project.slug == slug), None)
    if found is None:
        known = ", ".join(sorted(project.slug for project in own))
        raise refuse(
            field="project",
            seen=slug,
            allowed=f"one of {known}" if known else f"none: you may {action.value} in no project",
            remedy=remedy,
        )
    return found
