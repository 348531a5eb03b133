"""Text of words that come as the pieces of a pretrained encoder's tokenizer."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np
import torch

from regard.data.batch import Tokens, WordPieces
from regard.data.columns.marks import JOINER, unescape
from regard.data.columns.text import TextColumn
from regard.data.ragged import Array, Ragged
from regard.errors import MissingExtra, RegardError
from regard.parts import register
from regard.storage.pretrained import model_folder, read_config, read_tokenizer

KEPT = 1 << 16
"""Number of texts whose pieces are kept."""
UNKNOWN_PIECES = ("[MASK]", "<mask>", "[UNK]", "<unk>", "<|endoftext|>")


@dataclass(frozen=True)
class _Window:
    """ids (P) of some words of a text, and the pairs (piece, word) that belong together."""

    ids: Array
    pairs: Array


@register("column", "cut-text")
class CutTextColumn(TextColumn):
    """A text column of words whose batches contain `WordPieces` for the pretrained encoder `model`.

    The tokenizer and the configuration of the encoder are part of what the column learns, so that a saved model needs
    no other files. The tokenizer reads the text in its original case.
    """

    type = "cut-text"
    roles: ClassVar[tuple[str, ...]] = ()  # made from a text column if a pretrained encoder reads it

    def __init__(self, name: str, *, model: str = "", **options: Any) -> None:
        super().__init__(name, **options)
        if self.unit != "word" or self.case == "marked":
            raise RegardError(
                "a pretrained encoder reads whole words.",
                where=name,
                fix="Use unit: word, and case: keep or lower.",
            )
        self.model = model
        self.config: dict[str, Any] = {}
        self._written = ""
        self._tokenizer: Any = None
        self._cut: dict[str, tuple[list[_Window], int]] = {}

    @property
    def reads_texts(self) -> bool:
        return True

    def learn(self, values: Iterable[str]) -> None:
        self._read_model()
        super().learn(values)

    def _read_model(self) -> None:
        folder = model_folder(self.model)
        self.config, self._written = read_config(folder), read_tokenizer(folder)

    def pretend(self, size: int) -> None:
        self._read_model()
        super().pretend(size)

    def learned(self) -> dict[str, Any]:
        return {**super().learned(), "tokenizer": self._written, "config": self.config}

    def relearn(self, learned: Mapping[str, Any]) -> None:
        super().relearn(learned)
        if "tokenizer" in learned:
            self._written, self.config = learned["tokenizer"], dict(learned["config"])
            self._tokenizer = None
            self._cut.clear()

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the encoder."""
        if self._tokenizer is None:
            try:
                from tokenizers import Tokenizer
            except ImportError:
                raise MissingExtra("tokenizers", "text", "A pretrained encoder") from None
            self._tokenizer = Tokenizer.from_str(self._written)
            self._tokenizer.no_truncation()
            self._tokenizer.no_padding()
        return self._tokenizer

    @property
    def longest(self) -> int:
        """Largest number of pieces that the encoder reads at once."""
        positions = int(self.config.get("max_position_embeddings") or 512)
        reserved = (
            2 if "roberta" in str(self.config.get("model_type")) else 0
        )  # positions begin after padding
        return max(positions - reserved, 8)

    @property
    def unknown_piece(self) -> int:
        """The id of a piece that stands for an unknown word."""
        found = (self.tokenizer.token_to_id(name) for name in UNKNOWN_PIECES)
        return next((number for number in found if number is not None), 0)

    def original(self, text: str) -> list[str]:
        """The words of a text in their original case, one per piece of the column."""
        return self.cutter.cut(text if self.form is None else unicodedata.normalize(self.form, text))

    def windows(self, text: str) -> tuple[list[_Window], int]:
        """The pieces of a text, and a hash of them."""
        found = self._cut.get(text)
        if found is None:
            some = self._windows(self.original(text) * self.repeat, 0)
            digest = blake2b(digest_size=8)
            for window in some:
                digest.update(window.ids.tobytes())
                digest.update(window.pairs.tobytes())
            found = some, int.from_bytes(digest.digest()) >> 1 or 1
            if len(self._cut) >= KEPT:
                self._cut.clear()
            self._cut[text] = found
        return found

    def _windows(self, words: Sequence[str], first: int) -> list[_Window]:
        """The pieces of words; in halves if they are too many."""
        text, spans = _joined(words, marked=self.split == "punctuation")
        coded = self.tokenizer.encode(text)
        if len(coded.ids) > self.longest and len(words) > 1:
            half = len(words) // 2
            return [*self._windows(words[:half], first), *self._windows(words[half:], first + half)]
        pairs, word = [], 0
        parts = zip(coded.offsets, coded.special_tokens_mask, strict=True)
        for place, ((start, end), special) in enumerate(parts):
            if special or start >= end or place >= self.longest:
                continue
            while word + 1 < len(spans) and spans[word][1] <= start:
                word += 1
            other = word
            while other < len(spans) and spans[other][0] < end:
                if spans[other][1] > start:
                    pairs.append((place, first + other))
                other += 1
        ids = np.array(coded.ids[: self.longest], dtype=np.int64)
        return [_Window(ids, np.array(pairs, dtype=np.int64).reshape(-1, 2))]

    def collate_texts(self, encoded: Ragged, texts: Sequence[str]) -> Tokens:
        """Like `collate`, with the pieces of the words."""
        tokens = super().collate_texts(encoded, texts)
        longest = tokens.ids.shape[1]
        found = [self.windows(text) for text in texts]
        windows = [(row, window) for row, (some, _) in enumerate(found) for window in some]
        ids = Ragged.of([window.ids for _, window in windows])
        width = int(ids.lengths.max()) if len(windows) else 0
        places = [window.pairs[:, 0] + number * width for number, (_, window) in enumerate(windows)]
        words = [window.pairs[:, 1] + row * longest for row, window in windows]
        empty = [np.zeros(0, dtype=np.int64)]
        cut = WordPieces(
            torch.from_numpy(ids.padded()),
            torch.from_numpy(ids.lengths),
            torch.tensor([row for row, _ in windows], dtype=torch.int64),
            torch.from_numpy(np.concatenate(places or empty)),
            torch.from_numpy(np.concatenate(words or empty)),
            tuple(key for _, key in found),
            self.unknown_piece,
        )
        return replace(tokens, cut=cut)


def _joined(words: Sequence[str], *, marked: bool) -> tuple[str, list[tuple[int, int]]]:
    """The text of words, and where each of them is in it. Marked words stand without a space at their joiners."""
    text, spans, open_end = "", [], True
    for word in words:
        start, end = marked and word.startswith(JOINER), marked and word.endswith(JOINER)
        bare = unescape(word.strip(JOINER)) if marked else word
        text += "" if open_end or start else " "
        spans.append((len(text), len(text) + len(bare)))
        text += bare
        open_end = end
    return text, spans
