"""Sentences with their trees, and the nodes they consist of."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ParsedSentence:
    """Words with their tags and their tree.

    heads[i] is the number of the head of word i, counted from 1, and 0 for the root; relations[i] names the arc. Word i
    itself has the number i + 1.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words)

    @property
    def text(self) -> str:
        """the dog slept ."""
        return " ".join(self.words)

    @property
    def tree(self) -> str:
        """2:det 3:nsubj 0:root 3:punct"""
        return " ".join(f"{head}:{name}" for head, name in zip(self.heads, self.relations, strict=True))


@dataclass(eq=False)
class Node:
    """A word and its dependents: before it, after it, and `late`, at the end of the whole sentence.

    kind    class of a noun or traits of a verb, which determine the phrases it can take
    """

    word: str
    tag: str
    relation: str = "root"
    kind: frozenset[str] = frozenset()
    plural: bool = False
    before: list[Node] = field(default_factory=list)
    after: list[Node] = field(default_factory=list)
    late: list[Node] = field(default_factory=list)

    def right_edge(self) -> list[Node]:
        """The words to which a following phrase can attach, nearest first: those of the last dependent, then this
        one."""
        return [*(self.after[-1].right_edge() if self.after else []), self]

    def sentence(self) -> ParsedSentence:
        """The words in order; a `late` phrase precedes the final punctuation, and its arc may cross others."""
        placed, late = _walk(self)
        end = len(placed) - 1 if placed[-1].tag == "PUNCT" else len(placed)
        for node in late:
            words, _ = _walk(node)
            placed[end:end] = words
            end += len(words)
        number = {id(node): place for place, node in enumerate(placed, start=1)}
        head = {
            id(child): number[id(node)]
            for node in placed
            for child in (*node.before, *node.after, *node.late)
        }
        return ParsedSentence(
            tuple(node.word for node in placed),
            tuple(node.tag for node in placed),
            tuple(head.get(id(node), 0) for node in placed),
            tuple(node.relation for node in placed),
        )


def _walk(node: Node) -> tuple[list[Node], list[Node]]:
    """(words in order, late phrases)"""
    words: list[Node] = []
    late = list(node.late)
    for side in (node.before, [node], node.after):
        for child in side:
            inside, waiting = ([node], []) if child is node else _walk(child)
            words += inside
            late += waiting
    return words, late
