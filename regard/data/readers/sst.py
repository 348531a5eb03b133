"""Labelled trees in brackets, as the Stanford Sentiment Treebank has them: a tree a line.

    (3 (2 It) (4 (2 's) (4 (3 lovely) (2 film))))

The label of a row is that of the whole tree; with `phrases` every phrase of a tree is a row of its own as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from regard.data.readers.lines import BLANK, Line, read_lines
from regard.data.readers.reader import Reader
from regard.data.readers.row import Row
from regard.parts import register

_SIGN = re.compile(r"\(|\)|[^\s()]+")
ESCAPES = {"-LRB-": "(", "-RRB-": ")", "\\/": "/", "\\*": "*"}
"""How the Penn Treebank writes what its brackets would hide."""


@register("reader", "sst")
class TreesReader(Reader):
    """Labelled trees in brackets, a tree a line, as the Stanford Sentiment Treebank has them."""

    about: ClassVar[str] = "a file of labelled trees"
    lines: ClassVar[bool] = True
    fields: ClassVar[tuple[str, ...]] = ("text", "label")
    phrases: bool = False
    """Whether every phrase of a tree is a row of its own, too; a row is then one phrase, and a tree a group."""

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = files[0]
        for line in read_lines(path):
            phrases, problem = parse_tree(line)
            if problem:
                yield Row(file=str(path), line=line.number, problem=problem, source=line.text)
                continue
            for text, label in phrases if self.phrases else phrases[:1]:
                yield Row(
                    {"text": text, "label": label},
                    file=str(path),
                    line=line.number,
                    group=f"the tree of line {line.number}" if self.phrases else "",
                )


def parse_tree(line: Line) -> tuple[list[tuple[str, str]], str | None]:
    """The phrases of a tree with their labels, the whole first; or why it is none."""
    if line.problem or not line.text.strip():
        return [], line.problem or BLANK
    phrases: list[tuple[str, str, int, int]] = []
    words: list[str] = []
    opened: list[tuple[str, int]] = []
    before = ""
    for sign in _SIGN.findall(line.text):
        if sign == ")":
            if not opened:
                return [], "has a bracket that closes nothing"
            label, start = opened.pop()
            if start == len(words):
                return [], "has brackets with no word in them"
            phrases.append((" ".join(words[start:]), label, start, len(words)))
        elif before == "(":
            opened.append((sign, len(words)))
        elif sign != "(":
            if not opened:
                return [], f"has {sign!r} outside of all brackets"
            words.append(_unescaped(sign))
        before = sign
    if opened or before == "(" or not phrases:
        return [], "has a bracket that is not closed" if opened else "is no tree in brackets"
    if phrases[-1][2:] != (0, len(words)):
        return [], "has more than one tree"
    return [(text, label) for text, label, _, _ in reversed(phrases)], None


def _unescaped(word: str) -> str:
    for written, meant in ESCAPES.items():
        word = word.replace(written, meant)
    return word
