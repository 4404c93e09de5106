"""Tokens to text, piece by piece: half characters are held back, and so are half stop strings."""

from collections.abc import Sequence

from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream


class TextStream:
    """The visible text of one answer. Special tokens (the end token among them) have none."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._stream = DecodeStream(skip_special_tokens=True)
        self._ids: list[int] = []
        self._given = 0

    def push(self, token: int) -> str:
        """What the token adds, or "" while it ends in the middle of a character."""
        self._ids.append(token)
        text: str = self._stream.step(self._tokenizer, token) or ""
        self._given += len(text)
        return text

    def finish(self) -> str:
        """What was held back: an unfinished character decodes to U+FFFD, as in the whole text."""
        whole: str = self._tokenizer.decode(self._ids, skip_special_tokens=True)
        return whole[self._given :]


class StopWatch:
    """A text stream that ends before the first stop string; ``hit`` says that one was found."""

    def __init__(self, tokenizer: Tokenizer, stop: Sequence[str]) -> None:
        self._stream = TextStream(tokenizer)
        self._stop = tuple(stop)
        self._held = ""
        self.hit = False

    def push(self, token: int) -> str:
        self._held += self._stream.push(token)
        found = [at for text in self._stop if (at := self._held.find(text)) >= 0]
        if found:
            self.hit = True
            return self._give(min(found))
        return self._give(len(self._held) - self._half_stop())

    def finish(self) -> str:
        """The rest of an answer that ended for another reason than a stop string."""
        if self.hit:
            return ""
        return self._held + self._stream.finish()

    def _give(self, length: int) -> str:
        given, self._held = self._held[:length], self._held[length:]
        return given

    def _half_stop(self) -> int:
        """Length of the longest tail of the held text that begins a stop string."""
        longest = max(map(len, self._stop)) - 1
        for length in range(min(longest, len(self._held)), 0, -1):
            tail = self._held[-length:]
            if any(text.startswith(tail) for text in self._stop):
                return length
        return 0
