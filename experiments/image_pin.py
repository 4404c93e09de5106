"""An image pin as people write it, ``REPOSITORY@sha256:...``, taken apart into its two fields.

The digest alone is identity: the same image from a mirror is the same image.
"""

from collections.abc import Mapping
from typing import Any


def taken_apart(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The declaration with ``engine.environment.image_digest`` out of ``image``, where only that has one.

    A digest that is stated twice is left for the checks to compare.
    """
    environment = document["engine"]["environment"]
    repository, at, digest = str(environment.get("image") or "").partition("@")
    if not at or environment.get("image_digest") not in (None, digest):
        return document
    pinned = {**environment, "image": repository, "image_digest": digest}
    return {**document, "engine": {**document["engine"], "environment": pinned}}
