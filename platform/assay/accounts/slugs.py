"""Names that stand in addresses and on command lines."""

import re
from typing import Any

from django.db.models import QuerySet

from experiments.errors import refuse

LONGEST = 60
SLUG = re.compile(rf"[a-zA-Z0-9_-]{{1,{LONGEST}}}\Z")


def checked_slug(field: str, slug: str, *, taken: QuerySet[Any]) -> str:
    """The slug itself. ``taken``: what has it already. Raises Refusal."""
    if not SLUG.match(slug):
        allowed = "1 to 60 letters, digits, hyphens and underscores"
        raise refuse(field=field, seen=slug, allowed=allowed, remedy="Write it another way.")
    if taken.exists():
        raise refuse(field=field, seen=slug, allowed="a free name", remedy="Choose another one.")
    return slug
