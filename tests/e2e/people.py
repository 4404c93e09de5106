"""The people of a team in a made-up home: ``python -m tests.e2e.people`` prints name -> session."""

import json
import os

import django

ROLES = {
    "ada": "author",
    "ben": "reviewer",
    "eve": "reviewer",
    "max": "maintainer",
    "zoe": "viewer",
}


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "assay.settings")
    django.setup()
    from assay.ledger.models import Study

    Study.objects.filter(name="smollm2_concurrency").update(owner="ada")
    print(json.dumps({name: session(name, role) for name, role in ROLES.items()}))


def session(name: str, role: str) -> str:
    """Somebody who is in the main team in that role, and signed in."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.auth.models import User
    from django.contrib.sessions.backends.db import SessionStore

    from assay.accounts.models import Role
    from assay.accounts.services import join, main_project

    user, _ = User.objects.get_or_create(username=name)
    join(main_project().team, user, Role(role))
    store = SessionStore()
    store[SESSION_KEY] = str(user.pk)
    store[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    store[HASH_SESSION_KEY] = user.get_session_auth_hash()
    store.create()
    return str(store.session_key)


if __name__ == "__main__":
    main()
