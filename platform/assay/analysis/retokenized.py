"""The third token count: the text that came, counted again by the pinned tokenizer.

It is no truth about what was generated. Special tokens leave no text, a server strips reasoning marks and
stop strings, and another split of the same text into tokens may have been sampled. Where it differs from the
server's counts, that difference is the finding.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from assay.analysis.absence import Absent
from assay.analysis.wire.attempt import Attempt

TextCounter = Callable[[Sequence[str]], list[int]]  # tokens of each text, no special token added

NO_TOKENIZER = Absent("no pinned tokenizer came with this input")
CONTENT_WITHHELD = Absent("the content was kept as digests only: there is no text to count again")
_TOOL_CALLS = (
    "the server parsed tool calls out of the text: what was generated for them is not in the stream"
)
_NO_TEXT = "no text came"
_BATCH = 512


def retokenize(attempts: Iterable[Attempt], counter: TextCounter | Absent) -> None:
    """Set each attempt's ``retokenized``, or why there is none. All its texts count, each choice apart."""
    remaining = iter(attempts)
    while batch := list(islice(remaining, _BATCH)):
        if isinstance(counter, Absent):
            for attempt in batch:
                attempt.retokenized_absent = counter.reason
        else:
            _count(batch, counter)


def _count(batch: Sequence[Attempt], counter: TextCounter) -> None:
    texts: list[str] = []
    owners: list[Attempt] = []
    for attempt in batch:
        own = attempt.reply.generated_texts()
        attempt.retokenized_absent = _TOOL_CALLS if attempt.reply.tool_calls else None
        if not own:
            attempt.retokenized_absent = attempt.retokenized_absent or _NO_TEXT
        if attempt.retokenized_absent is None:
            attempt.retokenized = 0
            texts += own
            owners += [attempt] * len(own)
    for owner, tokens in zip(owners, counter(texts) if texts else [], strict=True):
        owner.retokenized = (owner.retokenized or 0) + tokens
