"""What holds for every engine in an environment of its own: its pin, its free flags, what it computes in."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from experiments.errors import Finding

DTYPES = ("bfloat16", "float16", "float32")


def environment(engine: Mapping[str, Any], *, variant: str) -> Iterator[Finding]:
    declared, key = engine["environment"], engine["key"]
    if declared["kind"] == "container":
        return  # its image says which libraries ran
    if declared["kind"] != "venv":
        remedy = f"Install one: assay engines install {key}==VERSION --variant {variant}"
        yield finding("engine.environment.kind", declared["kind"], "venv, container", remedy)
    elif declared["lock_sha256"] is None:
        yield finding(
            "engine.environment.lock_sha256",
            None,
            "the sha256 of the environment's lock",
            "See assay engines list; a version alone does not say which libraries ran.",
        )


def at_least(
    settings: Mapping[str, Any], *, needed: Mapping[str, int], optional: Mapping[str, int]
) -> Iterator[Finding]:
    """Whole numbers that must not be below a bound; ``optional`` ones may be null."""
    for name, lowest in needed.items():
        if settings[name] < lowest:
            yield setting(name, settings[name], f"at least {lowest}", "Raise it.")
    for name, lowest in optional.items():
        if settings[name] is not None and settings[name] < lowest:
            yield setting(name, settings[name], f"null, or at least {lowest}", "Raise it.")


def share(settings: Mapping[str, Any], name: str) -> Iterator[Finding]:
    value = settings[name]
    if value is not None and not 0 < value <= 1:
        yield setting(name, value, "above 0, at most 1", "It is a share.")


def flag_names(flags: Mapping[str, str]) -> Iterator[Finding]:
    for name in flags:
        if not name or name.startswith("-"):
            yield setting(
                f"flags.{name}",
                name,
                "a flag's name without leading dashes",
                "The dashes are added; whether the flag exists is asked of the version's parser.",
            )


def json_object(settings: Mapping[str, Any], name: str) -> Iterator[Finding]:
    """A setting that is null or a JSON object."""
    text = settings[name]
    if text is not None and not isinstance(_read(text), dict):
        yield setting(name, text, "null, or a JSON object", "Write it as JSON.")


def json_values(group: str, entries: Mapping[str, str]) -> Iterator[Finding]:
    """A group of settings whose values are JSON of any kind."""
    for name, text in entries.items():
        if _read(text) is _NO_JSON:
            yield setting(f"{group}.{name}", text, "JSON", 'Write text in quotes: "text".')


def token_ids(settings: Mapping[str, Any], why: str) -> Iterator[Finding]:
    if settings["return_token_ids"]:
        yield setting("return_token_ids", True, "false", why)


def precision(
    settings: Mapping[str, Any], artifact: Mapping[str, Any], names: Mapping[str, str]
) -> Iterator[Finding]:
    """Does it compute and store what the artifact declares? ``names``: its KV formats as declared ones."""
    if settings["dtype"] not in DTYPES:
        remedy = "auto would take whatever the files say; name it."
        yield setting("dtype", settings["dtype"], ", ".join(DTYPES), remedy)
        return
    stored = settings["dtype"] if settings["kv_dtype"] == "auto" else settings["kv_dtype"]
    for name, value, part in (
        ("dtype", settings["dtype"], "activations"),
        ("kv_dtype", names.get(stored, stored), "kv"),
    ):
        declared = artifact["precision"][part]["dtype"]
        if value != declared:
            yield setting(
                name,
                settings[name],
                f"{declared}, as artifact.precision.{part}.dtype says",
                f"Change both: engine.settings.{name} and artifact.precision.{part}.",
            )


def setting(name: str, seen: Any, allowed: str, remedy: str) -> Finding:
    return finding(f"engine.settings.{name}", seen, allowed, remedy)


def finding(field: str, seen: Any, allowed: str, remedy: str) -> Finding:
    return Finding(field=field, seen=str(seen), allowed=allowed, remedy=remedy)


_NO_JSON = object()


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return _NO_JSON
