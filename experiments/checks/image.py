"""Is a container's image pinned by what cannot move: a repository and a digest?"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from experiments.errors import Finding

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
# as registries name them: HOST[:PORT]/PATH/NAME, in lower case but for the host; no tag
REPOSITORY = re.compile(r"([A-Za-z0-9.-]+(:\d+)?/)?[a-z0-9]+([._/-]+[a-z0-9]+)*")
_FIELD = "engine.environment.image"


def check(environment: Mapping[str, Any]) -> Iterator[Finding]:
    image, digest = environment["image"], environment["image_digest"]
    if environment["kind"] != "container":
        if image is not None:
            remedy = "Set engine.environment.kind=container, or leave the image out."
            yield _finding(_FIELD, image, f"null where the kind is {environment['kind']}", remedy)
        return
    if not REPOSITORY.fullmatch(str(image)):
        yield _finding(
            _FIELD,
            image,
            "REPOSITORY@sha256:DIGEST, such as vllm/vllm-openai@sha256: and 64 hexadecimal digits",
            f"A tag can move; pin what it names now: docker pull {_tagged(image)}, then "
            f"docker image inspect --format '{{{{json .RepoDigests}}}}' {_tagged(image)}",
        )
    if not DIGEST.fullmatch(str(digest)):
        yield _finding(
            f"{_FIELD}_digest",
            digest,
            "sha256: and 64 hexadecimal digits",
            "A tag can move; pin the image by digest.",
        )


def _tagged(image: Any) -> str:
    return str(image).partition("@")[0] if image else "REPOSITORY:TAG"


def _finding(field: str, seen: Any, allowed: str, remedy: str) -> Finding:
    return Finding(field=field, seen=str(seen), allowed=allowed, remedy=remedy)
