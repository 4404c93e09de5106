"""Replace secrets while something is being written, and say where that happened.

Replaced are the exact values of declared secrets and known forms of credentials. Names that only sound
like secrets (``max_tokens``, ``use_cls_token``) are no secrets: no rule looks at the word "token".
Standard library only: the keeper imports this.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

SHORTEST_VALUE = (
    6  # a shorter declared value would wreck ordinary text; it is named as a gap instead
)

# Group "keep" is what stands before the secret and is kept.
_FORMS: tuple[tuple[str, bytes], ...] = (
    (
        "authorization_header",
        rb"(?i:authorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)\s+)(?P<X>[A-Za-z0-9._~+/=-]{4,})",
    ),
    ("bearer", rb"\b(?i:bearer)\s+(?P<X>[A-Za-z0-9._~+/-]{16,}=*)"),
    ("huggingface", rb"(?P<X>\bhf_[A-Za-z0-9]{16,})"),
    ("sk_key", rb"(?P<X>\bsk-[A-Za-z0-9_-]{16,})"),
    ("github", rb"(?P<X>\bgh[pousr]_[A-Za-z0-9]{20,})"),
    ("aws_key", rb"(?P<X>\bAKIA[0-9A-Z]{16}\b)"),
    ("url_password", rb"\b[a-z][a-z0-9+.-]*://[^\s/:@\"']+:(?P<X>[^\s/@\"']+)@"),
    (
        "api_key",
        rb"(?i:api[_-]?key[\"']?\s*(?:[=:]|\s)\s*\[?[\"']?)(?P<X>[A-Za-z0-9._~+/-]{12,}=*)",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """One replaced secret: byte offset in what was written, and the rule that matched."""

    offset: int
    rule: str


class Redactor:
    """Replaces declared values and known forms in bytes, text and JSON documents."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.too_short = sorted(n for n, v in values.items() if 0 < len(v) < SHORTEST_VALUE)
        known = {n: v for n, v in values.items() if len(v) >= SHORTEST_VALUE}
        self.longest = max((len(v.encode()) for v in known.values()), default=0)
        self._rules: list[str] = []
        parts: list[bytes] = []
        for name, value in sorted(known.items(), key=lambda item: -len(item[1])):
            for form in _spellings(value):
                parts.append(b"(?P<s%d>%s)" % (len(self._rules), re.escape(form)))
                self._rules.append(f"value:{name}")
        for rule, form in _FORMS:
            parts.append(form.replace(b"(?P<X>", b"(?P<s%d>" % len(self._rules)))
            self._rules.append(f"form:{rule}")
        self._pattern = re.compile(b"|".join(parts))
        values_only = [p for p, rule in zip(parts, self._rules, strict=True) if _is_value(rule)]
        self._values = re.compile(b"|".join(values_only)) if values_only else None

    def redact(self, data: bytes, *, base: int = 0) -> tuple[bytes, list[Replacement]]:
        """``data`` without secrets; offsets are those of the returned bytes plus ``base``."""
        out: list[bytes] = []
        found: list[Replacement] = []
        position = size = 0
        for match in self._pattern.finditer(data):
            group = str(match.lastgroup)
            rule = self._rules[int(group[1:])]
            kept = data[position : match.start(group)]
            mark = f"[redacted {rule}]".encode()
            found.append(Replacement(offset=base + size + len(kept), rule=rule))
            out += (kept, mark)
            size += len(kept) + len(mark)
            position = match.end(group)
        if not found:
            return data, found
        out.append(data[position:])
        return b"".join(out), found

    @property
    def knows_values(self) -> bool:
        return self._values is not None

    def mask(self, data: bytes) -> tuple[bytes, list[Replacement]]:
        """Declared values as asterisks of the same length, so that framing and lengths still hold.

        Known forms are left: what a model wrote is evidence, whatever it looks like. A value that two reads
        share is not found.
        """
        if self._values is None:
            return data, []
        found = [
            Replacement(offset=m.start(), rule=self._rules[int(str(m.lastgroup)[1:])])
            for m in self._values.finditer(data)
        ]
        if not found:
            return data, found
        return self._values.sub(lambda m: b"*" * len(m.group()), data), found

    def text(self, text: str) -> str:
        return self.redact(text.encode("utf-8", "surrogateescape"))[0].decode("utf-8", "replace")

    def document(self, value: Any, *, pointer: str = "") -> tuple[Any, list[tuple[str, str]]]:
        """A JSON value without secrets in its keys' values; each replacement as (JSON pointer, rule)."""
        if isinstance(value, str):
            clean, found = self.redact(value.encode("utf-8", "replace"))
            rules = [(pointer, item.rule) for item in found]
            return (clean.decode("utf-8", "replace") if found else value), rules
        if isinstance(value, Mapping):
            return self._members(value.items(), pointer)
        if isinstance(value, list | tuple):
            pairs = [self.document(v, pointer=f"{pointer}/{i}") for i, v in enumerate(value)]
            return [v for v, _ in pairs], [r for _, rules in pairs for r in rules]
        return value, []

    def _members(
        self, items: Iterable[tuple[Any, Any]], pointer: str
    ) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        clean: dict[str, Any] = {}
        rules: list[tuple[str, str]] = []
        for key, value in items:
            clean[str(key)], found = self.document(value, pointer=f"{pointer}/{key}")
            rules += found
        return clean, rules


def _is_value(rule: str) -> bool:
    return rule.startswith("value:")


def _spellings(value: str) -> list[bytes]:
    """The value as it stands and as JSON escapes it, longest first."""
    forms = {value.encode(), json.dumps(value)[1:-1].encode()}
    return sorted(forms, key=len, reverse=True)


def from_environment(names: Iterable[str], environment: Mapping[str, str]) -> Redactor:
    """A redactor for the values that the named environment variables have now."""
    return Redactor({n: environment[n] for n in names if environment.get(n)})
