"""Which tensors a list of names, globs and regular expressions means.

- ``re:`` and an expression is matched from the start of the name, as compressed-tensors does; an entry with
  a regular expression's own signs is one as well.
- A glob is matched from the start to the end of a part: it may name a parent (``model.layers.*.self_attn``).
- Anything else is whole parts of the name, anywhere: ``gate`` is ``mlp.gate`` and never ``mlp.gate_proj``.

Wrappers of multimodal models (``language_model.model.layers.``, ``model.language_model.layers.``) are
dropped. Numbers of experts are told apart only where an entry can: 60 layers of 128 experts are few
questions then.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.quantization.module_names import aliases, held_modules
from assay.analysis.perfmodel.tensors import Tensor
from runners.protocol.errors import Finding

_WRAPPER = re.compile(
    r"(?:model\\?\.)?(?:language_model|text_model)\\?\.(?:model\\?\.)?(?=layers|embed|norm|lm_head|\.|\()"
)
_LAYERS = re.compile(
    r"^\^?(?:(?:model|backbone)\\?\.layers|transformer\\?\.(?:h|blocks|encoder\\?\.layers)|layers)\\?\."
)
_OF_LAYER = re.compile(r"^model\.layers\.(\d+)(?:\.(.+))?$")
_GLOB_SIGNS = re.compile(r"(\*|\?|\[[^\]]+\])")
_REGEX_SIGNS = re.compile(r"[\\^$(|+]")
# What matches one number as well as another, or none: numbers in names always stand between dots.
_NUMBER_BLIND = re.compile(
    r"\\\.|\.[*+]\??|\[\^\.\][*+]|\\d\+|\[0-9\]\+|(?<=[A-Za-z_])\.(?=[A-Za-z_])"
)
# The number of a layer, as a glob or an expression writes it.
_LAYER_NUMBER = re.compile(r"layers\\?\.(?:\([^()]*\)|\[[^\]]*\]|\\d|\d|\?|[+*])+")
_PART_END = r"(?=\.|$)"


@dataclass(frozen=True, kw_only=True)
class ModulePatterns:
    """The entries of one list. ``where`` is the field that holds them."""

    entries: tuple[str, ...]
    where: str
    _known: dict[tuple[Tensor, int | None], Collection[int]] = field(
        default_factory=dict, compare=False, repr=False
    )
    _answers: dict[tuple[object, ...], bool] = field(
        default_factory=dict, compare=False, repr=False
    )

    def matched(self, tensor: Tensor, layer: int | None) -> Collection[int]:
        """Which copies of the tensor in ``layer`` the entries mean; ``layer`` None: outside the layers.

        A fused tensor is meant by its own name or when all it holds are; being meant in part is refused.
        """
        key = (tensor, layer)
        if key not in self._known:
            self._known[key] = self._matched(tensor, layer)
        return self._known[key]

    def _matched(self, tensor: Tensor, layer: int | None) -> Collection[int]:
        own = self._copies(tensor.module, tensor.copies, layer)
        held = held_modules(tensor.module)
        if own or not held:
            return own
        found = [self._copies(module, tensor.copies, layer) for module in held]
        if any(found) and not all(found):
            raise self._in_part(tensor.module, held)
        return found[0]

    def _copies(self, module: str, copies: int, layer: int | None) -> Collection[int]:
        """What tells no numbers apart is asked once, what tells layers once a layer, the rest each copy."""
        general, own = self._general, self._of_layers.get(layer, _NOTHING)
        some = None if layer is None else 0
        if (
            self._mean(general.blind, module, some)
            or self._mean(general.by_layer, module, layer)
            or self._mean(own.blind, module, None)
            or self._mean(own.by_number, module, None)
            or self._mean(general.by_number, module, layer)
        ):
            return range(copies)
        if "*" not in module or not (general.by_number.key or own.by_number.key):
            return ()
        return [
            copy
            for copy in range(copies)
            if self._mean_copy(own.by_number, module, None, copy)
            or self._mean_copy(general.by_number, module, layer, copy)
        ]

    def _mean(self, entries: "_Entries", module: str, layer: int | None) -> bool:
        """Whether entries mean a module whatever its number; those of a layer speak of names inside it
        (``layer`` None)."""
        if not entries.key:
            return False
        key = (entries.key, module, layer)
        if key not in self._answers:
            names = aliases(canonical(module))
            if entries.numbered:
                names = tuple(name for name in names if "*" not in name)
            prefix = "" if layer is None else f"model.layers.{layer}."
            self._answers[key] = any(
                entries.mean(prefix + name.replace("*", "0")) for name in names
            )
        return self._answers[key]

    def _mean_copy(self, entries: "_Entries", module: str, layer: int | None, copy: int) -> bool:
        """Whether entries mean one copy by its number."""
        prefix = "" if layer is None else f"model.layers.{layer}."
        return any(
            entries.mean(prefix + name.replace("*", str(copy)))
            for name in aliases(module)
            if "*" in name
        )

    @cached_property
    def _split(self) -> tuple["_Sorted", dict[int | None, "_Sorted"]]:
        general: list[str] = []
        layers: dict[int | None, list[str]] = {}
        for entry in dict.fromkeys(canonical(entry) for entry in self.entries):
            if _lies_elsewhere(entry):
                continue
            of_layer = None if _is_regex(entry) else _OF_LAYER.match(entry)
            if of_layer is None:
                general.append(entry)
            else:
                layers.setdefault(int(of_layer[1]), []).append(of_layer[2] or "*")
        return _Sorted.of(general), {layer: _Sorted.of(own) for layer, own in layers.items()}

    @property
    def _general(self) -> "_Sorted":
        return self._split[0]

    @property
    def _of_layers(self) -> dict[int | None, "_Sorted"]:
        return self._split[1]

    def _in_part(self, module: str, held: tuple[str, ...]) -> ModelRefused:
        return ModelRefused(
            Finding(
                field=self.where,
                seen=f"some of {', '.join(held)}",
                allowed="all of them, or none",
                remedy=f"{module} is stored as one matrix and has one format; check the list.",
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entries:
    """Compiled entries: names as a set, patterns as one expression. ``numbered``: they tell copies apart."""

    key: tuple[str, ...]
    literals: frozenset[str]
    expression: re.Pattern[str] | None
    numbered: bool

    @classmethod
    def of(cls, entries: Iterable[str], *, numbered: bool) -> "_Entries":
        key = tuple(entries)
        written = [_expression(entry) for entry in key if _is_pattern(entry)]
        return cls(
            key=key,
            literals=frozenset(entry for entry in key if not _is_pattern(entry)),
            expression=re.compile("|".join(f"(?:{one})" for one in written)) if written else None,
            numbered=numbered,
        )

    def mean(self, name: str) -> bool:
        if self.literals and not self.literals.isdisjoint(_spans(name)):
            return True
        return self.expression is not None and self.expression.match(name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sorted:
    """Entries by the numbers they can tell apart: none, those of layers, those of experts too."""

    blind: _Entries
    by_layer: _Entries
    by_number: _Entries

    @classmethod
    def of(cls, entries: list[str]) -> "_Sorted":
        numbered = [entry for entry in entries if _tells_numbers_apart(entry)]
        of_layers = [
            e for e in numbered if not _tells_numbers_apart(_LAYER_NUMBER.sub("layers", e))
        ]
        return cls(
            blind=_Entries.of(
                (entry for entry in entries if entry not in numbered), numbered=False
            ),
            by_layer=_Entries.of(of_layers, numbered=False),
            by_number=_Entries.of(
                (entry for entry in numbered if entry not in of_layers), numbered=True
            ),
        )


_NOTHING = _Sorted.of([])


def canonical(entry: str) -> str:
    """The entry without a wrapper's prefix or a final dot, with layers under ``model.layers.``."""
    marked = entry.startswith("re:")
    text = _WRAPPER.sub("", entry.removeprefix("re:").strip())
    regex = marked or _is_regex(text)
    text = _LAYERS.sub(r"model\\.layers\\." if regex else "model.layers.", text)
    return f"re:{text}" if regex else text.strip(".")


def _lies_elsewhere(entry: str) -> bool:
    """Names of layers in other towers: long lists of them mean nothing here."""
    other = not entry.startswith("model.layers.") and "layers" in entry.split(".")
    return other and not _is_pattern(entry)


def _is_regex(entry: str) -> bool:
    return entry.startswith("re:") or _REGEX_SIGNS.search(entry) is not None


def _is_pattern(entry: str) -> bool:
    return _is_regex(entry) or _GLOB_SIGNS.search(entry) is not None


def _expression(entry: str) -> str:
    if _is_regex(entry):
        return entry.removeprefix("re:")
    written = {"*": ".*", "?": "."}
    pieces = [
        written.get(piece)
        or (piece.replace("[!", "[^") if piece.startswith("[") else re.escape(piece))
        for piece in _GLOB_SIGNS.split(entry)
    ]
    return "".join(pieces) + _PART_END


def _tells_numbers_apart(entry: str) -> bool:
    if _is_regex(entry):
        rest = _NUMBER_BLIND.sub("", entry.removeprefix("re:"))
        return re.search(r"[\d.\[{\\]", rest) is not None
    if not _is_pattern(entry):
        return any(part.isdecimal() for part in entry.split("."))
    return re.search(r"(?<![A-Za-z_])\d|[?\[]", entry) is not None


def _spans(name: str) -> Iterable[str]:
    """All runs of whole parts of a name."""
    parts = name.split(".")
    ends = range(1, len(parts) + 1)
    return [
        ".".join(parts[start:end]) for start in range(len(parts)) for end in ends if end > start
    ]
