"""Errors of Hydra and OmegaConf as findings: the field, what was seen, what is allowed, what to do."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from experiments.errors import Finding, Refusal, refuse
from experiments.key_findings import missing_field, nearest, unknown_key
from experiments.schema import fields

_NO_SUCH_FILE = re.compile(r"Could not find '(\w+)/([^']+)'")

# What OmegaConf raises, beside its own errors, when an override sets a field where no node is.
ODD_ERRORS = (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError)


def refusal(
    error: Exception,
    overrides: Sequence[str],
    groups: Mapping[str, Collection[str]],
    *,
    engine: str | None = None,
) -> Refusal:
    """The refusal for an error raised while composing or typing a declaration.

    ``engine`` is the key of the chosen engine, where one was chosen.
    """
    cause: BaseException = error
    while not isinstance(cause, OmegaConfBaseException):
        deeper = cause.__cause__ or cause.__context__
        if deeper is None:
            break
        cause = deeper
    words = str(cause).splitlines()[0]
    field = str(getattr(cause, "full_key", "") or "declaration").replace("[", ".").replace("]", "")
    if isinstance(cause, ConfigKeyError | ConfigAttributeError):
        seen = next((o for o in overrides if o.startswith(f"{field}=")), None)
        return Refusal([unknown_key(field, seen=seen, engine=engine)])
    if "You must specify" in words:
        field, _, _ = words.removeprefix("You must specify '").partition("'")
        return refuse(
            field=field,
            seen="nothing chosen",
            allowed=", ".join(groups.get(field, [])),
            remedy=f"Add {field}=NAME.",
        )
    if lost := _NO_SUCH_FILE.search(words):
        group, name = lost.groups()
        near = nearest(name, groups.get(group, []))
        return refuse(
            field=group,
            seen=name,
            allowed=", ".join(groups.get(group, [])) or "a group of the study",
            remedy=f"Did you mean {near}?" if near else f"Choose one for {group}.",
        )
    if "is not Optional" in words:
        return Refusal([missing_field(field)])
    member = fields.find(field)
    written = [o for o in overrides if o.startswith(f"{field}=")]
    value = getattr(cause, "value", None)
    return refuse(
        field=field,
        seen=written[0] if written else (value if value is not None else words),
        allowed=member.allowed if member else "what the schema says",
        remedy=words,
    )


def no_such_node(overrides: Sequence[str], base: Any) -> Refusal:
    """Which override sets a field below a node that is null, or a list entry that is not there.

    ``base`` is the declaration composed from the chosen groups alone.
    """
    findings = []
    for written in overrides:
        node: Any = base
        parts = written.partition("=")[0].split(".")
        for depth, part in enumerate(parts):
            node = _step(node, part)
            if node is None and (depth + 1 < len(parts) or "{" in written):
                findings.append(
                    Finding(
                        field=".".join(parts[: depth + 1]),
                        seen=written,
                        allowed="a node that the chosen file holds",
                        remedy="It is null or absent there; write it whole in a group file of your own.",
                    )
                )
                break
    if findings:
        return Refusal(findings)
    return refuse(
        field="declaration",
        seen=" ".join(overrides),
        allowed="overrides that fit the chosen files",
        remedy="Set the fields one by one, or write a group file.",
    )


def _step(node: Any, part: str) -> Any:
    if isinstance(node, Mapping):
        return node.get(part)
    if isinstance(node, list) and part.isdigit() and int(part) < len(node):
        return node[int(part)]
    return None
