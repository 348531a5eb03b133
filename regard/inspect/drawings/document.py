"""A document: its sentences and words with their weights, and the collapsed sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from rich.text import Text

from regard.inspect.drawings.document_svg import document_html, document_legend, draw_document
from regard.inspect.drawings.document_terminal import document_notes
from regard.inspect.drawings.document_terminal import draw_document as terminal_document
from regard.inspect.drawings.drawing import PLAIN, TracedDrawing, View, held
from regard.inspect.layout import Block, below, frame
from regard.inspect.scene import Scene
from regard.inspect.section import PageSection
from regard.inspect.titles import answer
from regard.inspect.writing import JOINER, visible
from regard.parts import register
from regard.trace import Array, SentenceWords, Trace

if TYPE_CHECKING:
    from regard.inspect.terminal.ink import Ink

FULL = 16
"""Maximum number of sentences of a document that is shown completely."""
MOST_READ = 8
"""Maximum number of most attended sentences shown of a longer document."""
MOST_SHADED, FAINTEST = 1000, 0.04
"""Maximum number of shaded words of a document, and their minimum share of the largest weight."""
LEAST_READ = 3
READ = 0.02
"""Minimum weight of a shown sentence; at least three are always shown."""


@dataclass(frozen=True)
class Fold:
    """Sentences of a document that are not shown, from `first` to `last`, and their summary."""

    first: int
    last: int
    told: str


@register("drawing", "document")
@dataclass(frozen=True, eq=False)
class DocumentWords(TracedDrawing):
    """A document with the weights of its sentences and words."""

    rank: ClassVar[int] = 80
    traced = SentenceWords
    lacking: ClassVar[str] = "does not say where it looked in"

    words: SentenceWords
    title: str = ""
    over: str = ""

    @cached_property
    def shares(self) -> Array:
        """(W,) weights of the words; zeros if only sentences have weights."""
        found = self.words.shares if self.words.weights is not None else None
        return np.zeros(len(self.words.words)) if found is None else found

    @cached_property
    def limit(self) -> float:
        """The weight of a word with the full shade."""
        return float(self.shares.max(initial=0.0)) or 1.0

    def word(self, place: int) -> str:
        """A word without joiners; never empty."""
        return self.words.words[place].strip(JOINER) or self.words.words[place]

    def joined(self, place: int) -> bool:
        """Whether a word is joined to the one before it."""
        words = self.words.words
        return words[place].startswith(JOINER) or (place > 0 and words[place - 1].endswith(JOINER))

    def weight(self, place: int) -> float:
        return float(self.shares[place])

    def share(self, place: int) -> float:
        value = float(self.shares[place])
        return 0.0 if np.isnan(value) else min(1.0, max(0.0, value / self.limit))

    @cached_property
    def shaded(self) -> frozenset[int]:
        """The words with a notable weight, and the decisive ones, so that a page of many thousand words stays small."""
        most = np.argsort(-self.shares, kind="stable")[:MOST_SHADED].tolist()
        deciding = [] if self.words.truth is None else np.flatnonzero(self.words.truth).tolist()
        return frozenset([*(place for place in most if self.share(place) >= FAINTEST), *deciding])

    def decides(self, place: int) -> bool:
        return self.words.truth is not None and bool(self.words.truth[place])

    def is_true(self, sentence: int) -> bool:
        """Whether a sentence contains a decisive word."""
        low, high = self.words.bounds[sentence]
        return self.words.truth is not None and bool(self.words.truth[low:high].any())

    @cached_property
    def folded(self) -> list[int | Fold]:
        """The content from top to bottom: sentences, and folds of those that are not shown."""
        count = len(self.words.counts)
        if count <= FULL:
            return list(range(count))
        weights = self.words.sentences
        if weights is None:
            kept = set(range(MOST_READ))
        else:
            most = np.argsort(-weights, kind="stable")[:MOST_READ].tolist()
            kept = {place for rank, place in enumerate(most) if rank < LEAST_READ or weights[place] >= READ}
        kept |= {sentence for sentence in range(count) if self.is_true(sentence)}
        found: list[int | Fold] = []
        place = 0
        while place < count:
            end = place
            while end < count and end not in kept:
                end += 1
            if end - place == 1:  # a single sentence takes no more room than a fold
                found.append(place)
            elif end > place:
                found.append(Fold(place, end - 1, self._told(place, end)))
            if end < count:
                found.append(end)
            place = end + 1
        return found

    def _told(self, first: int, end: int) -> str:
        told = f"{end - first} sentences"
        if self.words.sentences is None:
            return told
        whole = f"{float(self.words.sentences[first:end].sum()):.2f}".removeprefix("0")
        return f"{told}, {whole} in all"

    @classmethod
    def of(cls, trace: Trace, name: str, view: View = PLAIN) -> DocumentWords:
        found: Any = trace.structures[name]
        return cls(found, title=view.title, over=name)

    @classmethod
    def shows(cls, trace: Trace, name: str) -> bool:
        """A document without attention is only text."""
        found: Any = trace.structures.get(name)
        return super().shows(trace, name) and found.shares is not None

    @classmethod
    def replaces(cls, trace: Trace, name: str) -> Sequence[str]:
        return ("attention",) if trace.single else ()

    @classmethod
    def compares(cls, traces: Sequence[Trace]) -> bool:
        return all(trace.single for trace in traces)

    def block(self) -> Block:
        return draw_document(self)

    @classmethod
    def legend(cls, shown: Sequence[DocumentWords]) -> list[Block]:
        return [document_legend(shown)]

    def terminal(self, width: int, ink: Ink) -> Iterator[Text]:
        return terminal_document(self, width, ink)

    @classmethod
    def terminal_legend(cls, shown: Sequence[DocumentWords], width: int, ink: Ink) -> Iterator[Text]:
        return document_notes(shown, width, ink)

    def sections(self, trace: Trace, name: str, heading: str) -> list[PageSection]:
        """All sentences, if the figure collapses some."""
        if len(self.words.counts) <= FULL:
            return []
        return [PageSection(f"All sentences of {name}", html=document_html(self))]

    def description(self) -> str:
        """The most attended sentence and words, in words."""
        parts, words = [], self.words
        if words.sentences is not None and len(words.sentences):
            best = int(words.sentences.argmax())
            parts.append(
                f"Most attended: sentence {best + 1} of {len(words.counts)} ({words.sentences[best]:.2f})."
            )
        shares = words.shares
        if words.weights is not None and shares is not None and len(shares):
            most = np.argsort(-shares, kind="stable")[:5]
            parts.append(
                "Most attended words: "
                + ", ".join(f"{visible(self.word(int(place)))} ({shares[place]:.2f})" for place in most)
                + "."
            )
        return " ".join(parts)


def document(trace: Trace, *, over: str | None = None, title: str | None = None) -> Scene:
    """The document in which an answer was found.

    over   the input to show if several are documents; default: the first
    """
    shown = DocumentWords.of(trace, held(trace, DocumentWords, over, "document"))
    return frame(
        below([shown.block(), *DocumentWords.legend([shown])], gap=16),
        title=answer(trace) if title is None else title,
        description=shown.description(),
    )
