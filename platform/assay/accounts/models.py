"""Who there is: teams, their projects, who is in a team as what, and what stands for a person elsewhere."""

from uuid import UUID, uuid4

from django.conf import settings
from django.db import models

# What nobody put anywhere lies here: the command line's runs, and everything of a home of one person.
MAIN_PROJECT = UUID("00000000-0000-4000-8000-000000000001")


class Action(models.TextChoices):
    """What can be done to the things of a project, each allowing the ones before it by its role only."""

    view = "view"
    write = "write"  # launch, cancel, note, tag
    review = "review"  # approve, request changes, sign off
    manage = "manage"  # members, schedules, baselines, retractions


class Role(models.TextChoices):
    """What somebody is in a team."""

    viewer = "viewer"
    author = "author"
    reviewer = "reviewer"
    maintainer = "maintainer"


class Team(models.Model):
    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    members: "models.ManyToManyField[models.Model, Membership]" = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="Membership", related_name="teams"
    )
    created_at = models.DateTimeField(auto_now_add=True)


class Project(models.Model):
    """Studies belong to one; its team's members see them."""

    id = models.UUIDField(primary_key=True, default=uuid4)
    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="projects")
    created_at = models.DateTimeField(auto_now_add=True)


class Membership(models.Model):
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=10, choices=Role.choices)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="one_role_in_a_team")]


class ApiToken(models.Model):
    """Stands for a person towards the API. Only a digest is kept; the token is shown once."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens"
    )
    name = models.CharField(max_length=80)
    digest = models.CharField(max_length=64, unique=True)  # sha256 of the token
    beginning = models.CharField(max_length=12)  # to tell one's tokens apart
    scopes = models.JSONField(
        default=list
    )  # Action values; a token never allows more than its owner
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)


class SignInLink(models.Model):
    """A link that signs one person in, once, from this machine."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="sign_in_links"
    )
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)


class FailedSignIn(models.Model):
    """One failure to sign in, under the keyed digest of a name, an address, or both."""

    key = models.CharField(max_length=64, db_index=True)
    at = models.DateTimeField(auto_now_add=True, db_index=True)


class ListPage(models.TextChoices):
    """A list whose search somebody may keep."""

    runs = "runs"
    studies = "studies"


class SavedView(models.Model):
    """A search and its columns under a name, of one person and for their eyes only."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views"
    )
    name = models.CharField(max_length=80)
    page = models.CharField(max_length=10, choices=ListPage.choices)
    query = models.CharField(max_length=1000, blank=True)
    columns = models.JSONField(default=list)  # names of metric columns; empty: the page's own
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "page", "name"], name="one_view_of_a_name")
        ]
