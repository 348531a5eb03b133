"""The structures in a trace: joint selections, as plain numbers that `regard.inspect` can draw.

    Arcs       a head for each token of an input: a dependency tree, or the soft parents of self-attention
    Segments   for each output piece, the positions of an input that are inside its segments
    Hops       the positions of an input that were read one after another: the supporting facts of an answer
    Nodes      the tree whose nodes are the positions of an input, with the weight and the label of each
    SentenceWords  the words of the sentences that are the positions of an input, with the weight of each

A structure can have marginals p(part is in z), the best structure, samples, and the true structure; unknown
ones are None or empty. Lists and CPU tensors are converted to numpy arrays. Nothing here needs torch, and
`to_dict` is JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError

Numbers = NDArray[np.floating[Any]]
Places = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class _Structure:
    """Fields are converted and checked in the constructor; their names are the keys of the JSON."""

    kind: ClassVar[str]
    _arrays: ClassVar[Mapping[str, type]]

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name not in self._arrays:
                object.__setattr__(self, one.name, tuple(map(str, value)))
            elif value is not None:
                object.__setattr__(self, one.name, self._array(one.name, value))
        self._check()

    def _array(self, name: str, value: Any) -> Any:
        wanted = self._arrays[name]
        array = np.asarray(value)
        if wanted is np.int64 and array.size and not np.array_equal(array, np.floor(array)):
            raise RegardError(f"{self.kind}: {name} holds numbers that are not whole: {array.tolist()}.")
        return array.astype(wanted)

    def _check(self) -> None:
        raise NotImplementedError

    def _expect(self, name: str, shape: tuple[int | None, ...], why: str) -> None:
        """Refuse an array of another shape; None in `shape` means any size."""
        value = getattr(self, name)
        if value is None:
            return
        found = value.shape
        if len(found) != len(shape) or any(
            e is not None and e != f for e, f in zip(shape, found, strict=True)
        ):
            written = ", ".join("any" if size is None else str(size) for size in shape)
            raise RegardError(
                f"{self.kind}: {name} has shape {found}, expected ({written}{',' * (len(shape) == 1)}): {why}."
            )

    def _within(self, name: str, low: int, high: int, why: str) -> None:
        value = getattr(self, name)
        if value is not None and value.size and (value.min() < low or value.max() > high):
            raise RegardError(
                f"{self.kind}: {name} holds {value.tolist()}, expected numbers from {low} to {high}: {why}."
            )

    def _one_each(self, names: Sequence[str], count: int, what: str) -> None:
        """Refuse fields of texts whose number is neither 0 nor `count`."""
        for name in names:
            found = len(getattr(self, name))
            if found not in (0, count):
                raise RegardError(
                    f"{self.kind}: {found} {name.replace('_', ' ')} for {count} {what}, expected one for each."
                )

    def check_against(self, name: str, outputs: int, positions: int) -> None:
        """Refuse a structure that does not fit the output pieces and the positions of input `name`."""
        raise NotImplementedError

    def _refuse(self, name: str, found: int, what: str, expected: int, of: str) -> None:
        if found != expected:
            raise RegardError(f"the {self.kind} over {name!r} are for {found} {what}, but {of} {expected}.")

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, strings and numbers, for JSON, without unknown values."""
        values: dict[str, Any] = {"kind": self.kind}
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, np.ndarray):
                values[one.name] = value.tolist()
                if 0 in value.shape:
                    values[f"{one.name}_shape"] = list(value.shape)  # empty lists lose their shape
            elif value:
                values[one.name] = list(value)
        return values


@dataclass(frozen=True, eq=False)
class Arcs(_Structure):
    """A head for each of N tokens; tokens are counted from 1, and 0 is the root symbol, as in `regard.structures`.

    heads           (N,) `heads[m - 1]` is the head of token m: 0 to N; −1 if there is none
    marginals       (N+1, N+1) `marginals[h, m]` is p(h is the head of m); column 0 and the diagonal are not read
    relations       N names, `relations[m - 1]` of the arc to token m
    true_heads      (N,) as heads; −1 if not known
    true_relations  N names
    samples         (K, N) the heads of K samples
    """

    kind: ClassVar[str] = "arcs"
    _arrays: ClassVar[Mapping[str, type]] = {
        "heads": np.int64, "marginals": np.float64, "true_heads": np.int64, "samples": np.int64,
    }  # fmt: skip

    heads: Places
    marginals: Numbers | None = None
    relations: Sequence[str] = ()
    true_heads: Places | None = None
    true_relations: Sequence[str] = ()
    samples: Places | None = None

    def _check(self) -> None:
        self._expect("heads", (None,), "a head for each token")
        count = len(self.heads)
        self._expect("marginals", (count + 1, count + 1), "heads by tokens, the root symbol first")
        self._expect("true_heads", (count,), "a head for each token")
        self._expect("samples", (None, count), "samples by tokens")
        for name in ("heads", "true_heads", "samples"):
            self._within(name, -1, count, f"one of {count} tokens, 0 for the root, −1 for none")
            heads = getattr(self, name)
            if heads is not None and (heads == np.arange(1, count + 1)).any():
                raise RegardError(f"arcs: in {name}, {heads.tolist()}, a token is its own head.")
        self._one_each(("relations", "true_relations"), count, "tokens")

    def check_against(self, name: str, outputs: int, positions: int) -> None:
        self._refuse(name, len(self.heads), "tokens", positions, "that input has")


@dataclass(frozen=True, eq=False)
class Segments(_Structure):
    """The segments of S positions of an input that each of T output pieces attended to.

    weights   (T, S) p(position s is inside, for output piece t): the marginals before any rescaling
    best      (T, S) 0 or 1: the most probable segmentation
    truth     (T, S) 0 or 1: the true segments
    samples   (K, T, S) 0 or 1: K samples
    """

    kind: ClassVar[str] = "segments"
    _arrays: ClassVar[Mapping[str, type]] = {
        "weights": np.float64, "best": np.int64, "truth": np.int64, "samples": np.int64,
    }  # fmt: skip

    weights: Numbers
    best: Places | None = None
    truth: Places | None = None
    samples: Places | None = None

    def _check(self) -> None:
        self._expect("weights", (None, None), "output pieces by positions")
        shape = self.weights.shape
        for name in ("best", "truth"):
            self._expect(name, shape, "output pieces by positions, as the weights")
        self._expect("samples", (None, *shape), "samples by output pieces by positions")
        for name in ("best", "truth", "samples"):
            self._within(name, 0, 1, "1 inside a segment, 0 outside")

    def check_against(self, name: str, outputs: int, positions: int) -> None:
        self._refuse(name, self.weights.shape[0], "output pieces", outputs, "the trace has")
        self._refuse(name, self.weights.shape[1], "positions", positions, "that input has")


@dataclass(frozen=True, eq=False)
class Hops(_Structure):
    """Which of S positions of an input were read in K hops.

    weights    (K, S) p(hop k reads position s)
    best       (K,) the positions of the most probable reading, from 0; −1 for none
    truth      the true positions in their order, as many as there are: the supporting facts
    samples    (M, K) the positions of M samples
    positions  S texts, if the positions are not the pieces of the input: the sentences of a story
    """

    kind: ClassVar[str] = "hops"
    _arrays: ClassVar[Mapping[str, type]] = {
        "weights": np.float64, "best": np.int64, "truth": np.int64, "samples": np.int64,
    }  # fmt: skip

    weights: Numbers
    best: Places | None = None
    truth: Places | None = None
    samples: Places | None = None
    positions: Sequence[str] = ()

    def _check(self) -> None:
        self._expect("weights", (None, None), "hops by positions")
        hops, count = self.weights.shape
        self._expect("best", (hops,), "a position for each hop")
        self._expect("truth", (None,), "true positions in their order")
        self._expect("samples", (None, hops), "samples by hops")
        for name in ("best", "truth", "samples"):
            self._within(name, -1 if name != "truth" else 0, count - 1, f"one of {count} positions, from 0")
        if len(self.positions) not in (0, count):
            raise RegardError(
                f"hops: {len(self.positions)} texts for {count} positions, expected one for each."
            )

    def check_against(self, name: str, outputs: int, positions: int) -> None:
        if not self.positions:
            self._refuse(name, self.weights.shape[1], "positions", positions, "that input has")


@dataclass(frozen=True, eq=False)
class Nodes(_Structure):
    """A tree over words whose N nodes, in post-order, are the positions of an input.

    parents      (N,) the place of each node's parent, from 0; −1 for the root
    labels       N predicted names, or none
    true_labels  N names; empty for a node whose label is not known
    weights      (N,) the attention to each node
    """

    kind: ClassVar[str] = "nodes"
    _arrays: ClassVar[Mapping[str, type]] = {"parents": np.int64, "weights": np.float64}
    samples: ClassVar[None] = None

    parents: Places
    labels: Sequence[str] = ()
    true_labels: Sequence[str] = ()
    weights: Numbers | None = None

    def _check(self) -> None:
        self._expect("parents", (None,), "a parent for each node")
        count = len(self.parents)
        self._expect("weights", (count,), "a weight for each node")
        self._within("parents", -1, count - 1, f"one of {count} nodes, −1 for the root")
        if count and ((self.parents[:-1] <= np.arange(count - 1)).any() or self.parents[-1] != -1):
            raise RegardError(f"nodes: {self.parents.tolist()} are not the parents of a tree in post-order.")
        self._one_each(("labels", "true_labels"), count, "nodes")

    def check_against(self, name: str, outputs: int, positions: int) -> None:
        self._refuse(name, len(self.parents), "nodes", positions, "that input has")


@dataclass(frozen=True, eq=False)
class SentenceWords(_Structure):
    """A document: the W words of the S sentences that are the positions of an input.

    words       all words, one sentence after another
    counts      (S,) words of each sentence
    weights     (W,) the weight of each word in its sentence; None without such an attention
    sentences   (S,) the weight of each sentence; None without such an attention
    truth       (W,) 1 for the words that decide the answer, 0 for others; None if not known
    """

    kind: ClassVar[str] = "words"
    _arrays: ClassVar[Mapping[str, type]] = {
        "counts": np.int64, "weights": np.float64, "sentences": np.float64, "truth": np.int64,
    }  # fmt: skip
    samples: ClassVar[None] = None

    words: Sequence[str]
    counts: Places
    weights: Numbers | None = None
    sentences: Numbers | None = None
    truth: Places | None = None

    def _check(self) -> None:
        self._expect("counts", (None,), "words of each sentence")
        total = int(self.counts.sum())
        if total != len(self.words):
            raise RegardError(f"words: {len(self.words)} words, but the sentences have {total} in all.")
        self._expect("weights", (total,), "a weight for each word")
        self._expect("sentences", (len(self.counts),), "a weight for each sentence")
        self._expect("truth", (total,), "0 or 1 for each word")

    def check_against(self, name: str, outputs: int, positions: int) -> None:
        if positions != len(self.words):  # words may be attended to directly
            self._refuse(name, len(self.counts), "sentences", positions, "that input has")

    @property
    def shares(self) -> Numbers | None:
        """(W,) the weight of each word, the product of the two levels; None without any attention."""
        if self.weights is None and self.sentences is None:
            return None
        own = np.ones(len(self.words)) if self.weights is None else self.weights
        return own if self.sentences is None else own * np.repeat(self.sentences, self.counts)

    @property
    def bounds(self) -> list[tuple[int, int]]:
        """The index of the first word of each sentence, and of the word after its last."""
        ends = np.cumsum(self.counts)
        return list(zip((ends - self.counts).tolist(), ends.tolist(), strict=True))


TracedStructure = Arcs | Segments | Hops | Nodes | SentenceWords
_KINDS: Mapping[str, type[Arcs] | type[Segments] | type[Hops] | type[Nodes] | type[SentenceWords]] = {
    one.kind: one for one in (Arcs, Segments, Hops, Nodes, SentenceWords)
}


def structure_from_dict(values: Mapping[str, Any]) -> TracedStructure:
    """The inverse of `to_dict`, for all kinds."""
    kind = _KINDS.get(values.get("kind", ""))
    if kind is None:
        raise RegardError(
            f"{values.get('kind')!r} is not a known kind of structure; the known kinds are {', '.join(_KINDS)}."
        )
    found: dict[str, Any] = {}
    for one in fields(kind):
        if one.name in values:
            shape = values.get(f"{one.name}_shape")
            value = values[one.name]
            found[one.name] = value if shape is None else np.zeros(shape)
    return kind(**found)
