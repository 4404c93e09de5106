"""The pinned tokenizer as a file of the bundle, so that output can be counted again by whoever reads it."""

import gzip

from runners.artifacts.tokenizer import ArtifactTokenizer


def packed(tokenizer: ArtifactTokenizer) -> bytes:
    """The library's ``tokenizer.json``, gzipped; the same tokenizer gives the same bytes."""
    return gzip.compress(tokenizer.engine.to_str().encode(), compresslevel=6, mtime=0)
