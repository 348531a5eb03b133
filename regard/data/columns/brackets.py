"""Trees in brackets: words, constituents, and a label for each node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from regard.data.batch import ADDED, PAD, UNKNOWN, UNLABELED, UNSEEN, Forest
from regard.data.brackets import BracketError, BracketTree, read_brackets
from regard.data.columns.column import Column
from regard.data.columns.label import unseen_remark
from regard.data.columns.text import NormalForm, TextColumn, VocabularySize
from regard.data.columns.vocabulary import new_unit
from regard.data.ragged import Array, Ragged
from regard.errors import RegardError
from regard.parts import Count, Mistakes, Plan, nearest, register

Side = Literal["left", "right"]
NUMBERS = 4
"""Numbers per node in the encoding: id of the word, parent, label, height."""


@lru_cache(8)
def _read(value: str, labels: bool) -> BracketTree:
    """A value is read by several methods, one after the other."""
    return read_brackets(value, labels=labels)


@register("column", "brackets")
class BracketsColumn(Column):
    """A tree such as (3 (2 It) (4 (4 works) (2 well))), or without labels ((It works) well).

    The encoding has four numbers per node, in post-order: the id of its word (0 for an inner node), the index of its
    parent (−1 for the root), the number of its label, and its height. An output consists of the labels of the nodes of
    the input `of`.

    labels     whether the first token in a bracket is the label of its node
    binarize   how to split a node with more than two children: left ((a b) c), right (a (b c)), None: do not split. The
               nodes added have the label ADDED
    """

    class Options(Column.Options):
        """A tree in brackets: `(3 (2 It) (4 (4 works) (2 well)))`, or `((It works) well)` without labels."""

        labels: bool = True
        """The first token in a bracket is the label of its node, or `_` for none. False: every token is a word."""
        of: str | None = None
        """For an output: the input whose nodes it labels; default: the only input of type brackets."""
        vocabulary: VocabularySize | None = None
        """Maximum vocabulary size, including the four special entries; the most frequent words are kept."""
        min_count: Count = 1
        """Words that occur fewer times in training are unknown."""
        normalize: NormalForm | None = "NFC"
        """Unicode normal form of the words."""
        case: Literal["keep", "lower"] = "keep"
        """lower: convert the words to lower case."""
        max_length: Count = 500
        """Longest sentence allowed, in words."""

    type = "brackets"
    shows_unknown = True
    classed = True
    has_remark = True
    has_units = True
    roles: ClassVar[tuple[str, ...]] = ("inputs", "outputs")
    usual: ClassVar[tuple[str, ...]] = ("root_accuracy", "node_accuracy")
    encoder = "tree"
    decoder = "nodes"

    @classmethod
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        given = dict(options)
        given["of"] = labeled_input(options, plan) if name in plan.outputs else None
        return cls(name, **given, **asked)

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: a tree in brackets" + (", its nodes labeled" if options.labels else "")

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        if name in plan.inputs and options.of is not None:
            mistakes.add("of has no effect: it is an option of outputs.", "of", fix="Leave it out.")
        if name not in plan.outputs:
            return
        inputs = [one for one, column in plan.inputs.items() if column.type == "brackets"]
        if options.of is None and len(inputs) != 1:
            what = f"there are several: {', '.join(inputs)}" if inputs else "no input is of type brackets"
            fix = f"Name one:  of: {inputs[0]}" if inputs else "Add an input of type brackets."
            mistakes.add(f"this output labels the nodes of one input, but {what}.", "of", fix=fix)
        elif options.of is not None and options.of not in inputs:
            mistakes.add(
                f"no input of type brackets is named {options.of!r}.", "of", fix=nearest(options.of, inputs)
            )
        else:
            of = options.of or inputs[0]
            same = (plan.inputs[of].field or of) == (options.field or name)
            if same and not plan.inputs[of].labels:
                mistakes.add(
                    f"the labels are read from the field of {of}, which reads them as words (labels: false).",
                    fix=f"Leave labels: false out of {of}, or put the labels into another field.",
                )
        if not options.labels:
            mistakes.add(
                "an output of type brackets consists of labels; labels: false leaves it empty.",
                "labels",
                fix="Leave labels: false out.",
            )
        for option in ("vocabulary", "min_count", "case", "normalize"):
            if option in options.model_fields_set:
                mistakes.add(
                    f"{option} has no effect: it is about words, and this output consists of labels.",
                    option,
                    fix="Leave it out.",
                )

    def __init__(
        self,
        name: str,
        *,
        field: str | None = None,
        labels: bool = True,
        of: str | None = None,
        binarize: Side | None = None,
        max_length: int | None = None,
        **words: Any,
    ) -> None:
        super().__init__(name, field=field, of=() if of is None else (of,))
        self.labels, self.binarize, self.max_length = labels, binarize, max_length
        self.words = TextColumn(name, field=field, unit="word", **words)
        self.counts: list[int] = []
        self._set_classes([])

    def _set_classes(self, classes: Sequence[str]) -> None:
        self.classes = list(classes)
        self._numbers = {label: number for number, label in enumerate(self.classes)}

    @property
    def vocabulary(self) -> Any:
        return self.words.vocabulary

    @property
    def size(self) -> int:
        """Number of word ids; for an output, number of labels."""
        return len(self.classes) if self.of else self.words.size

    def tree(self, value: str) -> BracketTree:
        try:
            return _read(value, self.labels)
        except BracketError as error:
            raise RegardError(f"{value[:60]!r} {error}.", where=self.name, fix=self._hint()) from error

    def _hint(self) -> str:
        if self.labels:
            return "Write a tree such as (S (NP you) (VP (V did) (NP it))), or set labels: false for (you (did it))."
        return "Write a tree such as (you (did it))."

    def learn(self, values: Iterable[str]) -> None:
        counts: Counter[str] = Counter()

        def texts() -> Iterator[str]:
            for value in values:
                try:
                    tree = _read(value, self.labels)
                except BracketError:
                    continue  # the row is refused, with its location, when it is encoded
                counts.update(label for label in tree.labels if label)
                yield " ".join(tree.leaves)

        self.words.learn(texts())
        self._set_classes(sorted(counts))
        self.counts = [counts[label] for label in self.classes]

    def check_value(self, value: str | None) -> str | None:
        reason = super().check_value(value)
        if reason or value is None:
            return reason
        try:
            tree = _read(value, self.labels)
        except BracketError as error:
            return str(error)
        words = len(tree.leaves)
        if self.max_length is not None and words > self.max_length:
            return f"has {words} words, more than max_length {self.max_length}"
        if self.of and not any(tree.labels):
            return "has no label"
        return None

    def check_beside(self, encoded: Array, beside: Mapping[str, Array]) -> str | None:
        mine, theirs = (_visible(one)[:, 0] > 0 for one in (encoded, beside[self.of[0]]))
        if len(mine) != len(theirs):
            return f"has {len(mine)} nodes, {self.of[0]} has {len(theirs)}"
        return None if np.array_equal(mine, theirs) else f"is not the same tree as {self.of[0]}"

    def encode(self, value: str) -> Array:
        tree = self.tree(value)
        ids = iter(self.words.vocabulary.ids([self.words._compose(word) for word in tree.leaves]))
        nodes = np.zeros((len(tree), NUMBERS), dtype=np.int32)
        nodes[:, 0] = [next(ids) if word is not None else PAD for word in tree.words]
        nodes[:, 1] = tree.parents
        nodes[:, 2] = [self._numbers.get(label, UNSEEN) if label else UNLABELED for label in tree.labels]
        if self.binarize is not None:
            nodes = binarized(nodes, self.binarize)
        nodes[:, 3] = heights(nodes[:, 1])
        return nodes.reshape(-1)

    def unknown_units(self, value: str) -> list[str]:
        words = [] if self.of else [self.words._compose(word) for word in self.tree(value).leaves]
        ids = self.words.vocabulary.ids(words)
        return [word for word, number in zip(words, ids, strict=True) if number == UNKNOWN]

    def unseen(self, value: str) -> list[str]:
        return [label for label in self.tree(value).labels if label and label not in self._numbers]

    def remark(self, rows: Iterable[tuple[str, Array]]) -> str | None:
        """The number of labels in an output that the training data lack."""
        counts: Counter[str] = Counter()
        total = 0
        for text, encoded in rows if self.of else ():
            total += len(encoded) // NUMBERS
            counts.update(self.unseen(text))
        return unseen_remark(counts, f"{total:,} nodes", "label", "labels")

    def reference(self, value: str) -> str:
        return value.strip()

    def decode(self, ids: Sequence[int]) -> str:
        nodes = _visible(np.asarray(ids))
        words = [self.words.decode([number]) if number else None for number in nodes[:, 0].tolist()]
        labels = [self.label(number) for number in nodes[:, 2].tolist()]
        return BracketTree(words, labels, nodes[:, 1].tolist()).written()

    def label(self, number: int) -> str:
        """The name of a label; empty for a node without one."""
        return "" if number == UNLABELED else "?" if number < 0 else self.classes[number]

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        """A name for each node: the words below it."""
        if isinstance(value, str):
            tree = self.tree(value)
            return phrases(tree.leaves, tree.parents, [word is not None for word in tree.words])
        nodes = _visible(np.asarray(value))
        leaves = nodes[:, 0] > 0
        return phrases(self.words.tokens(nodes[leaves, 0].tolist()), nodes[:, 1].tolist(), leaves.tolist())

    def readable(self, collated: Forest) -> list[list[str]]:
        parts = (collated.ids, collated.parents, collated.labels, collated.heights)
        nodes = torch.stack(parts, -1).cpu().numpy()
        return [
            self.tokens(row[:length].reshape(-1))  # type: ignore[arg-type]
            for row, length in zip(nodes, collated.lengths.tolist(), strict=True)
        ]

    def readable_texts(self, collated: Forest, texts: Sequence[str]) -> list[list[str]]:
        return [self.tokens(text) for text in texts]

    def cost(self, encoded: Array) -> int:
        """Number of nodes."""
        return len(encoded) // NUMBERS

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Forest:
        """All fields (B, N), except lengths (B,)."""
        rows = Ragged.of(encoded)
        nodes = rows.padded().reshape(len(rows), -1, NUMBERS)  # (B, N, 4)
        lengths = torch.from_numpy(rows.lengths // NUMBERS)
        ids, parents, labels, high = (
            torch.from_numpy(np.ascontiguousarray(nodes[..., part])) for part in range(NUMBERS)
        )
        padding = torch.arange(ids.shape[1]) >= lengths[:, None]
        return Forest(
            ids, parents.masked_fill(padding, -1), labels.masked_fill(padding, UNLABELED), high, lengths
        )

    def options(self) -> dict[str, Any]:
        words = self.words.options()
        return {
            "field": self.field,
            "labels": self.labels,
            "of": self.of[0] if self.of else None,
            "binarize": self.binarize,
            "max_length": self.max_length,
            **{key: words[key] for key in ("vocabulary", "min_count", "normalize", "case")},
        }

    def learned(self) -> dict[str, Any]:
        return {**self.words.learned(), "labels": self.classes, "counts": self.counts}

    def pretend(self, size: int) -> None:
        self.words.pretend(size)
        self._set_classes([f"unit{number}" for number in range(size)])
        self.counts = [1] * size

    def units(self) -> dict[str, Sequence[Hashable]]:
        return {**self.words.units(), "labels": self.classes}

    def grow(self, kind: str) -> None:
        if kind == "labels":
            self._set_classes([*self.classes, new_unit(self.classes)])
            self.counts = [*self.counts, 1]
        else:
            self.words = copy(self.words)
            self.words.grow(kind)

    def relearn(self, learned: Mapping[str, Any]) -> None:
        self.words.relearn(learned)
        self._set_classes(learned["labels"])
        self.counts = list(learned["counts"])


def labeled_input(options: Any, plan: Plan) -> str:
    """The input whose nodes an output labels."""
    inputs = [name for name, column in plan.inputs.items() if column.type == "brackets"]
    found: str = options.of or inputs[0]
    return found


def heights(parents: Sequence[int] | Array) -> Array:
    """(N,) heights of nodes in post-order: 0 for a leaf."""
    found = np.zeros(len(parents), dtype=np.int32)
    for place, parent in enumerate(parents):
        if parent >= 0:
            found[parent] = max(found[parent], found[place] + 1)
    return found


def binarized(nodes: Array, side: Side) -> Array:
    """The nodes (N, 4) in post-order, with added nodes such that every node has at most two children."""
    below: list[list[int]] = [[] for _ in nodes]
    for place, parent in enumerate(nodes[:, 1].tolist()):
        if parent >= 0:
            below[parent].append(place)
    # The position after which a new node is inserted, and its number among those there, keep the post-order.
    order: list[list[int]] = []  # rows of the new table: [id, parent, label, height]
    made: list[int] = []  # old index → new index
    waiting: dict[int, list[int]] = {}  # old index of a node → its children that are not merged yet
    ends = {children[-1]: parent for parent, children in enumerate(below) if len(children) > 2}
    openers = {
        child: parent
        for parent, children in enumerate(below)
        if len(children) > 2
        for child in children[1:-1]
    }
    for place, row in enumerate(nodes.tolist()):
        made.append(len(order))
        for child in waiting.pop(place, []) or [made[one] for one in below[place]]:
            order[child][1] = len(order)
        order.append([row[0], -1, row[2], 0])
        if side == "left" and place in openers:
            parent = openers[place]
            parts = waiting.get(parent) or [made[below[parent][0]]]
            for child in (*parts, made[place]):
                order[child][1] = len(order)
            waiting[parent] = [len(order)]
            order.append([PAD, -1, ADDED, 0])
        if side == "left" and place in ends:
            waiting[ends[place]] = [*waiting[ends[place]], made[place]]
        if side == "right" and place in ends:
            parent = ends[place]
            last = made[place]
            for child in below[parent][-2:0:-1]:
                for part in (made[child], last):
                    order[part][1] = len(order)
                last = len(order)
                order.append([PAD, -1, ADDED, 0])
            waiting[parent] = [made[below[parent][0]], last]
    return np.array(order, dtype=np.int32)


def phrases(words: Sequence[str], parents: Sequence[int], leaves: Sequence[bool]) -> list[str]:
    """The words of each node in post-order, separated by spaces; long phrases are shortened in the middle."""
    first, last = [len(words)] * len(parents), [0] * len(parents)
    count = 0
    for place, parent in enumerate(parents):
        if leaves[place]:
            first[place], count = count, count + 1
        last[place] = count
        if parent >= 0:
            first[parent] = min(first[parent], first[place])
    return [_shortened(words[start:end]) for start, end in zip(first, last, strict=True)]


def _shortened(words: Sequence[str], most: int = 5) -> str:
    return " ".join(words if len(words) <= most else [*words[:2], "…", *words[-2:]])


def _visible(encoded: Array) -> Array:
    """(N, 4) without the nodes that binarization added; parents are renumbered."""
    nodes = np.reshape(encoded, (-1, NUMBERS))
    added = nodes[:, 2] == ADDED
    if not added.any():
        return nodes
    nodes = nodes.copy()
    for place in reversed(np.flatnonzero(added).tolist()):  # parents first
        nodes[nodes[:, 1] == place, 1] = nodes[place, 1]
    kept = np.flatnonzero(~added)
    numbers = np.full(len(nodes) + 1, -1)
    numbers[kept] = np.arange(len(kept))
    nodes[:, 1] = numbers[nodes[:, 1]]
    return nodes[kept]
