"""Trees in brackets: `(3 (2 It) (4 (4 works) (2 well)))`, labeled or not, read without recursion.

With labels, the first token inside a bracket is the label of its node, as in the Penn Treebank; words and nodes follow.
A bracket around a single bare word gives that word a label. Without labels, every token is a word: `((a b) c)`.
An unlabeled outermost bracket around a single tree, as in the Penn Treebank, is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

ESCAPES = {"-LRB-": "(", "-RRB-": ")", "\\/": "/", "\\*": "*"}
"""Escape sequences of the Penn Treebank."""
NO_LABEL = "_"
"""Written for a node whose label is missing or unknown."""
WORD = "XX"
"""Stands for a word in a linearized tree (Vinyals et al. 2015)."""

_LINEAR = re.compile(r"[()]?[^\s()]+|[()]")
_SIGN = re.compile(r"\(|\)|[^\s()]+")


class BracketError(ValueError):
    """Why a text is not a tree, to follow its name in a message: "has a node without a label (character 7)"."""

    def __init__(self, what: str, place: int | None = None) -> None:
        super().__init__(what if place is None else f"{what} (character {place + 1})")


@dataclass(frozen=True)
class BracketTree:
    """The nodes of a tree in post-order: children before parents, from left to right; the root is the last.

    words     word of each node; None for an inner node
    labels    label of each node; empty if it has none
    parents   index of each node's parent; −1 for the root
    """

    words: Sequence[str | None]
    labels: Sequence[str]
    parents: Sequence[int]

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def leaves(self) -> list[str]:
        """The words, from left to right."""
        return [word for word in self.words if word is not None]

    @property
    def children(self) -> list[list[int]]:
        """The indices of the children of each node, from left to right."""
        found: list[list[int]] = [[] for _ in self.parents]
        for place, parent in enumerate(self.parents):
            if parent >= 0:
                found[parent].append(place)
        return found

    @property
    def spans(self) -> list[tuple[int, int]]:
        """For each node, the index of its first word and the index after its last, from 0."""
        found: list[tuple[int, int]] = []
        first, count = [len(self.words)] * len(self.words), 0
        for place, word in enumerate(self.words):
            if word is not None:
                first[place] = count
                count += 1
            found.append((first[place], count))
            parent = self.parents[place]
            if parent >= 0:
                first[parent] = min(first[parent], first[place])
        return found

    def written(self, labels: Sequence[str] | None = None) -> str:
        """The tree in brackets, with its own labels or the given ones.

        If no node has a label, none is written, and every token is a word. Otherwise an inner node without a label gets
        `_`.
        """
        labels = self.labels if labels is None else labels
        some, out = any(labels), list[str]()
        opening = self._openings([f"({label or NO_LABEL} " if some else "(" for label in labels])
        for place, word in enumerate(self.words):
            if word is None:
                out[-1] += ")"
                continue
            shown = _escaped(word)
            shown = f"({labels[place]} {shown})" if labels[place] else shown
            out.append("".join(opening[len(out)]) + shown)
        return " ".join(out)

    def linear(self) -> str:
        """The linearized tree: `(S (NP XX XX )NP XX )S`. Each word becomes XX, without its own label."""
        opening, out, words = self._openings([f"({label or NO_LABEL}" for label in self.labels]), [], 0
        for place, word in enumerate(self.words):
            if word is None:
                out.append(f"){self.labels[place] or NO_LABEL}")
                continue
            out += [*opening[words], WORD]
            words += 1
        return " ".join(out)

    def subtree(self, place: int) -> BracketTree:
        """The subtree rooted at a node."""
        start, first = place, self.spans
        while start and first[start - 1][0] >= first[place][0]:
            start -= 1
        parents = [parent - start for parent in self.parents[start:place]]
        return BracketTree(self.words[start : place + 1], self.labels[start : place + 1], [*parents, -1])

    def _openings(self, signs: Sequence[str]) -> list[list[str]]:
        """For each word, the opening signs of the nodes that start there, outermost first."""
        found: list[list[str]] = [[] for _ in self.leaves]
        spans = self.spans
        for place in reversed(range(len(self))):
            if self.words[place] is None:
                found[spans[place][0]].append(signs[place])
        return found


@dataclass
class _Open:
    """A bracket that is not closed yet."""

    place: int
    label: str = ""
    children: list[int] = field(default_factory=list)
    fresh: bool = True


def read_brackets(text: str, *, labels: bool = True) -> BracketTree:
    """Parse a text; a BracketError says what is wrong, and where."""
    words: list[str | None] = []
    names: list[str] = []
    parents: list[int] = []
    opened: list[_Open] = []
    done = False

    def add(word: str | None, label: str) -> None:
        words.append(word)
        names.append(label)
        parents.append(-1)
        if opened:
            opened[-1].children.append(len(words) - 1)

    for match in _SIGN.finditer(text):
        sign, place = match[0], match.start()
        if done:
            what = "has a closing bracket without an opening one" if sign == ")" else "has more than one tree"
            raise BracketError(what, place)
        if sign == "(":
            if opened:
                opened[-1].fresh = False
            opened.append(_Open(place))
        elif sign == ")":
            if not opened:
                raise BracketError("has a closing bracket without an opening one", place)
            last = opened.pop()
            if not last.children:
                raise BracketError("has brackets with no word in them", last.place)
            single = len(last.children) == 1
            bare = single and words[last.children[0]] is not None and not names[last.children[0]]
            if single and not last.label and (not labels or (not opened and not bare)):
                if opened:  # (a) is a
                    opened[-1].children.append(last.children[0])
            elif labels and not last.label:
                raise BracketError("has a node without a label", last.place)
            elif bare and labels:
                names[last.children[0]] = last.label
                if opened:
                    opened[-1].children.append(last.children[0])
            else:
                add(None, last.label)
                for child in last.children:
                    parents[child] = len(words) - 1
            done = not opened
        elif opened and opened[-1].fresh and labels:
            opened[-1].label, opened[-1].fresh = sign, False
        else:
            if not opened and labels:
                raise BracketError(f"has {sign!r} outside of all brackets", place)
            if opened:
                opened[-1].fresh = False
            add(_unescaped(sign), "")
            done = not opened
    if opened:
        raise BracketError("has a bracket that is not closed", opened[-1].place)
    if not words:
        raise BracketError("is not a tree in brackets")
    names = ["" if name == NO_LABEL else name for name in names]
    return BracketTree(words, names, parents)


def bracket_fault(text: str) -> str | None:
    """Why a text is not a linearized tree, to follow its name in a message; None if it is one.

    Two forms are allowed: `(S (NP XX XX )NP XX )S`, whose closing brackets repeat the labels, and `(S (NP XX XX) XX)`.
    """
    opened: list[tuple[str, int, bool]] = []  # label, position, whether the bracket has content
    ended = False
    for match in _LINEAR.finditer(text):
        sign, place = match[0], match.start()
        if ended:
            return str(BracketError("has text after the end of its tree", place))
        if sign.startswith("("):
            opened[-1:] = [(*opened[-1][:2], True)] if opened else []
            opened.append((sign[1:], place, False))
        elif not opened:
            what = (
                "has a closing bracket without an opening one"
                if sign[0] == ")"
                else f"has {sign!r} outside of all brackets"
            )
            return str(BracketError(what, place))
        elif sign.startswith(")"):
            label, start, filled = opened.pop()
            if not filled:
                return str(BracketError("has brackets with no word in them", start))
            if sign != ")" and sign[1:] != label:
                return str(BracketError(f"closes ({label} with {sign}", place))
            ended = not opened
        else:
            opened[-1] = (*opened[-1][:2], True)
    if opened:
        return str(BracketError("has a bracket that is not closed", opened[-1][1]))
    return None if ended else "is not a tree in brackets"


def _unescaped(word: str) -> str:
    for written, meant in ESCAPES.items():
        word = word.replace(written, meant)
    return word


def _escaped(word: str) -> str:
    return word.replace("(", "-LRB-").replace(")", "-RRB-")
