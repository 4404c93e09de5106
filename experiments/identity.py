"""What a declaration is: canonical JSON over its key and variable fields, and the digests over it.

Names, notes, tags, owner, paths, hosts, ports, times and repetition are context and enter no digest, so the
same declaration has the same digest on any machine and in any key order.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import rfc8785

from experiments.errors import refuse
from experiments.schema.artifact import ArtifactConfig
from experiments.schema.fields import members, node_of
from experiments.schema.roles import Role
from experiments.schema.root import RootConfig

MAX_EXACT_INTEGER = 2**53 - 1  # the largest that every JSON reader keeps exactly


def canonical(document: Any) -> bytes:
    """Canonical JSON (RFC 8785); integers beyond 2**53 - 1 are written as strings.

    Raises Refusal for values that JSON cannot hold (NaN, infinities, foreign types).
    """
    try:
        return rfc8785.dumps(_exact(document))
    except rfc8785.CanonicalizationError as error:
        raise refuse(
            field="document",
            seen=error,
            allowed="finite numbers, text, true, false, null, lists and mappings",
            remedy="Write a finite number, or null with its reason.",
        ) from error


def _exact(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return str(value) if abs(value) > MAX_EXACT_INTEGER else value
    if isinstance(value, float) and abs(value) > MAX_EXACT_INTEGER and value.is_integer():
        return str(int(value))  # its digits would be read back as such an integer
    if isinstance(value, Mapping):
        return {str(k): _exact(v) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_exact(v) for v in value]
    return value


def key_document(document: Mapping[str, Any], schema: type = RootConfig) -> dict[str, Any]:
    """The part of a document that identifies it: every field that is neither context nor reading."""
    kept: dict[str, Any] = {}
    for member in members(schema):
        if member.name not in document or member.role in (Role.context, Role.reading):
            continue
        value = document[member.name]
        node = node_of(member, value, schema)
        if node is not None and isinstance(value, Mapping):
            kept[member.name] = key_document(value, node)
        elif node is not None and member.listed and isinstance(value, Sequence):
            kept[member.name] = [key_document(item, node) for item in value]
        else:
            kept[member.name] = value
    return kept


def spec_digest(document: Mapping[str, Any]) -> str:
    """sha256 (hex) of what was declared: the identifying part of a whole run document."""
    return _digest(key_document(document))


def artifact_digest(artifact: Mapping[str, Any]) -> str:
    """sha256 (hex) over everything that identifies an artifact; what ``artifact.parent.digest`` names."""
    return _digest(key_document(artifact, ArtifactConfig))


def tools_digest(definitions: Sequence[Mapping[str, Any]]) -> str:
    """sha256 (hex) of tool definitions in their order, apart from any template that may expand them."""
    return hashlib.sha256(canonical(list(definitions))).hexdigest()


def _digest(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(document)).hexdigest()
