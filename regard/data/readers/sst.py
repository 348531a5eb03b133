"""Labeled trees in brackets, in the format of the Stanford Sentiment Treebank: a tree per line.

    (3 (2 It) (4 (2 's) (4 (3 lovely) (2 film))))

A row has the words (`text`), the label of the whole tree (`label`), the tree itself (`tree`, for a column of type
brackets) and the linearized tree with XX for each word (`parse`). With `phrases`, every phrase of a tree is also a row.
If a column of type brackets is all that is read, a plain file of trees needs no format.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from regard.data.brackets import BracketError, BracketTree, read_brackets
from regard.data.readers.files import BLANK, Line, read_lines
from regard.data.readers.reader import Reader
from regard.data.readers.row import Row
from regard.parts import register


@register("reader", "sst")
class TreesReader(Reader):
    """Labeled trees in brackets, a tree per line, in the format of the Stanford Sentiment Treebank."""

    about: ClassVar[str] = "a file of labeled trees"
    lines: ClassVar[bool] = True
    fields: ClassVar[tuple[str, ...]] = ("text", "label", "tree", "parse")
    phrases: bool = False
    """Make every phrase of a tree a row; the rows of one tree then form a group."""

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = files[0]
        for line in read_lines(path):
            tree, problem = _tree(line)
            if tree is None:
                yield Row(file=str(path), line=line.number, problem=problem, source=line.text)
                continue
            phrases = (
                [tree.subtree(place) for place in reversed(range(len(tree)))] if self.phrases else [tree]
            )
            for phrase in phrases:
                yield Row(
                    {
                        "text": " ".join(phrase.leaves),
                        "label": phrase.labels[-1],
                        "tree": phrase.written(),
                        "parse": phrase.linear(),
                    },
                    file=str(path),
                    line=line.number,
                    group=f"the tree of line {line.number}" if self.phrases else "",
                )


def _tree(line: Line) -> tuple[BracketTree | None, str | None]:
    """The tree of a line, or why it cannot be parsed."""
    if line.problem or not line.text.strip():
        return None, line.problem or BLANK
    try:
        return read_brackets(line.text), None
    except BracketError as error:
        return None, str(error)
