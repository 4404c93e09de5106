"""The project of everything that was there before projects were, and of what is put in none."""

from uuid import UUID

from django.db import migrations

MAIN_PROJECT = UUID("00000000-0000-4000-8000-000000000001")


def make(apps, schema_editor):
    team, _ = apps.get_model("accounts", "Team").objects.get_or_create(
        slug="main", defaults={"name": "Main"}
    )
    apps.get_model("accounts", "Project").objects.get_or_create(
        id=MAIN_PROJECT, defaults={"slug": "main", "name": "Main", "team": team}
    )


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]
    operations = [migrations.RunPython(make, migrations.RunPython.noop)]
