"""The pinned tokenizer that lies in a bundle, as a counter of texts."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from assay.analysis.absence import Absent
from assay.analysis.retokenized import CONTENT_WITHHELD, NO_TOKENIZER, TextCounter
from assay.archive.inflating import gunzip
from assay.archive.readers import Bundle
from runners.protocol import layout


def tokenizer_of(bundle: Bundle) -> Path | Absent:
    """Where the bundle's tokenizer lies, or why its replies cannot be counted again."""
    path = bundle.folder / layout.TOKENIZER
    if not path.is_file():
        return NO_TOKENIZER
    evidence = (bundle.document(layout.SPEC) or {}).get("evidence") or {}
    return CONTENT_WITHHELD if evidence.get("content") == "digest" or bundle.withheld else path


@lru_cache(maxsize=1)
def counter_at(path: Path | Absent) -> TextCounter | Absent:
    """The counter of a packed tokenizer; a process that reads many batches builds it once."""
    if isinstance(path, Absent):
        return path
    return counter_of(gunzip(path).decode())


def counter_of(tokenizer_json: str) -> TextCounter:
    """Counts tokens of texts as written: special tokens are recognised, none is added."""
    from tokenizers import Tokenizer  # a bundle without a tokenizer does without its library

    tokenizer = Tokenizer.from_str(tokenizer_json)

    def count(texts: Sequence[str]) -> list[int]:
        return [len(e) for e in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    return count
