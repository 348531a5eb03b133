"""The structures in a trace: joint selections, as plain numbers that `regard.inspect` can draw.

    Arcs       a head for each token of an input: a dependency tree, or the soft parents of self-attention
    Segments   for each output piece, the positions of an input that are inside its segments
    Hops       the positions of an input that were read one after another: the supporting facts of an answer
    Nodes      the tree whose nodes are the positions of an input, with the weight and the label of each
    Constituents   a constituency tree over the tokens of an input: spans with their labels
    SentenceWords  the words of the sentences that are the positions of an input, with the weight of each

A structure can have marginals p(part is in z), the best structure, samples, and the true structure; unknown
ones are None or empty. Lists and CPU tensors are converted to numpy arrays. Nothing here needs torch, and
`to_dict` is JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from regard.errors import RegardError
from regard.trace.structure import Numbers, Places, TracedStructure


@dataclass(frozen=True, eq=False)
class Arcs(TracedStructure):
    """A head for each of N tokens; tokens are counted from 1, and 0 is the root symbol, as in `regard.structures`.

    heads           (N,) `heads[m - 1]` is the head of token m: 0 to N; −1 if there is none
    marginals       (N+1, N+1) `marginals[h, m]` is p(h is the head of m); column 0 and the diagonal are not read
    relations       N names, `relations[m - 1]` of the arc to token m
    true_heads      (N,) as heads; −1 if not known
    true_relations  N names
    samples         (K, N) the heads of K samples
    """

    kind: ClassVar[str] = "arcs"
    arrays: ClassVar[Mapping[str, type]] = {
        "heads": np.int64, "marginals": np.float64, "true_heads": np.int64, "samples": np.int64,
    }  # fmt: skip

    heads: Places
    marginals: Numbers | None = None
    relations: Sequence[str] = ()
    true_heads: Places | None = None
    true_relations: Sequence[str] = ()
    samples: Places | None = None

    def check(self) -> None:
        self.expect_shape("heads", (None,), "a head for each token")
        count = len(self.heads)
        self.expect_shape("marginals", (count + 1, count + 1), "heads by tokens, the root symbol first")
        self.expect_shape("true_heads", (count,), "a head for each token")
        self.expect_shape("samples", (None, count), "samples by tokens")
        for name in ("heads", "true_heads", "samples"):
            self.expect_range(name, -1, count, f"one of {count} tokens, 0 for the root, −1 for none")
            heads = getattr(self, name)
            if heads is not None and (heads == np.arange(1, count + 1)).any():
                raise RegardError(f"arcs: in {name}, {heads.tolist()}, a token is its own head.")
        self.expect_one_each(("relations", "true_relations"), count, "tokens")

    def check_against(self, name: str, outputs: int, positions: int) -> None:
        self.expect_count(name, len(self.heads), "tokens", positions, "that input has")

    def of_sample(self, sample: Places) -> Arcs:
        return Arcs(sample, true_heads=self.true_heads)


@dataclass(frozen=True, eq=False)
class Segments(TracedStructure):
    """The segments of S positions of an input that each of T output pieces attended to.

    weights   (T, S) p(position s is inside, for output piece t): the marginals before any rescaling
    best      (T, S) 0 or 1: the most probable segmentation
    truth     (T, S) 0 or 1: the true segments
    samples   (K, T, S) 0 or 1: K samples
    """

    kind: ClassVar[str] = "segments"
    arrays: ClassVar[Mapping[str, type]] = {
        "weights": np.float64, "best": np.int64, "truth": np.int64, "samples": np.int64,
    }  # fmt: skip

    weights: Numbers
    best: Places | None = None
    truth: Places | None = None
    samples: Places | None = None

    def check(self) -> None:
        self.expect_shape("weights", (None, None), "output pieces by positions")
        shape = self.weights.shape
        for name in ("best", "truth"):
            self.expect_shape(name, shape, "output pieces by positions, as the weights")
        self.expect_shape("samples", (None, *shape), "samples by output pieces by positions")
        for name in ("best", "truth", "samples"):
            self.expect_range(name, 0, 1, "1 inside a segment, 0 outside")

    def check_against(self, name: str, outputs: int, positions: int) -> None:
        self.expect_count(name, self.weights.shape[0], "output pieces", outputs, "the trace has")
        self.expect_count(name, self.weights.shape[1], "positions", positions, "that input has")

    def of_sample(self, sample: Places) -> Segments:
        return Segments(sample.astype(np.float64), truth=self.truth)


@dataclass(frozen=True, eq=False)
class Hops(TracedStructure):
    """Which of S positions of an input were read in K hops.

    weights    (K, S) p(hop k reads position s)
    best       (K,) the positions of the most probable reading, from 0; −1 for none
    truth      the true positions in their order, as many as there are: the supporting facts
    samples    (M, K) the positions of M samples
    positions  S texts, if the positions are not the pieces of the input: the sentences of a story
    """

    kind: ClassVar[str] = "hops"
    arrays: ClassVar[Mapping[str, type]] = {
        "weights": np.float64, "best": np.int64, "truth": np.int64, "samples": np.int64,
    }  # fmt: skip

    weights: Numbers
    best: Places | None = None
    truth: Places | None = None
    samples: Places | None = None
    positions: Sequence[str] = ()

    def check(self) -> None:
        self.expect_shape("weights", (None, None), "hops by positions")
        hops, count = self.weights.shape
        self.expect_shape("best", (hops,), "a position for each hop")
        self.expect_shape("truth", (None,), "true positions in their order")
        self.expect_shape("samples", (None, hops), "samples by hops")
        for name in ("best", "truth", "samples"):
            self.expect_range(
                name, -1 if name != "truth" else 0, count - 1, f"one of {count} positions, from 0"
            )
        if len(self.positions) not in (0, count):
            raise RegardError(
                f"hops: {len(self.positions)} texts for {count} positions, expected one for each."
            )

    def check_against(self, name: str, outputs: int, positions: int) -> None:
        if not self.positions:
            self.expect_count(name, self.weights.shape[1], "positions", positions, "that input has")

    @property
    def looks(self) -> tuple[Numbers, frozenset[int]]:
        return self.weights, frozenset() if self.truth is None else frozenset(self.truth.tolist())

    def of_sample(self, sample: Places) -> Hops:
        weights = np.zeros(self.weights.shape)
        for hop, position in enumerate(sample.tolist()):
            if position >= 0:
                weights[hop, position] = 1.0
        return Hops(weights, sample, self.truth, positions=self.positions)


@dataclass(frozen=True, eq=False)
class Nodes(TracedStructure):
    """A tree over words whose N nodes, in post-order, are the positions of an input.

    parents      (N,) the place of each node's parent, from 0; −1 for the root
    labels       N predicted names, or none
    true_labels  N names; empty for a node whose label is not known
    weights      (N,) the attention to each node
    """

    kind: ClassVar[str] = "nodes"
    arrays: ClassVar[Mapping[str, type]] = {"parents": np.int64, "weights": np.float64}
    last_is_whole: ClassVar[bool] = True

    parents: Places
    labels: Sequence[str] = ()
    true_labels: Sequence[str] = ()
    weights: Numbers | None = None

    def check(self) -> None:
        self.expect_shape("parents", (None,), "a parent for each node")
        count = len(self.parents)
        self.expect_shape("weights", (count,), "a weight for each node")
        self.expect_range("parents", -1, count - 1, f"one of {count} nodes, −1 for the root")
        if count and ((self.parents[:-1] <= np.arange(count - 1)).any() or self.parents[-1] != -1):
            raise RegardError(f"nodes: {self.parents.tolist()} are not the parents of a tree in post-order.")
        self.expect_one_each(("labels", "true_labels"), count, "nodes")

    def check_against(self, name: str, outputs: int, positions: int) -> None:
        self.expect_count(name, len(self.parents), "nodes", positions, "that input has")

    @property
    def holds_output(self) -> bool:
        return bool(self.labels)


@dataclass(frozen=True, eq=False)
class Constituents(TracedStructure):
    """A constituency tree over the N tokens of an input: M spans, of which no two cross, children before parents.

    spans          (M, 2) the first and the last token of each, from 0, both inclusive; equal spans are nodes over the
                   same words, inner ones first
    labels         M names; empty for a token without a tag and for a root without a label
    probabilities  (M,) p(these tokens have this label)
    marginals      (N, N) p(tokens i to j are a constituent)
    true_spans     (K, 2) and `true_labels`: the true tree, as `spans` and `labels`; none if not known
    samples        (K, N, N) 0 or 1: the constituents of K samples
    """

    kind: ClassVar[str] = "constituents"
    arrays: ClassVar[Mapping[str, type]] = {
        "spans": np.int64, "probabilities": np.float64, "marginals": np.float64, "true_spans": np.int64,
        "samples": np.int64,
    }  # fmt: skip

    spans: Places
    labels: Sequence[str]
    probabilities: Numbers | None = None
    marginals: Numbers | None = None
    true_spans: Places | None = None
    true_labels: Sequence[str] = ()
    samples: Places | None = None

    def check(self) -> None:
        count = int(self.spans[:, 1].max(initial=-1)) + 1 if self.spans.ndim == 2 else 0
        for spans, labels in (("spans", "labels"), ("true_spans", "true_labels")):
            self.expect_shape(spans, (None, 2), "the first and the last token of each span")
            self.expect_range(spans, 0, count - 1, f"one of {count} tokens")
            known = getattr(self, spans)
            if known is not None and len(known) != len(getattr(self, labels)):
                raise RegardError(f"constituents: {len(known)} {spans}, expected a label for each.")
        self.expect_shape("probabilities", (len(self.spans),), "a probability for each span")
        self.expect_shape("marginals", (count, count), "first tokens by last tokens")
        self.expect_shape("samples", (None, count, count), "samples by first tokens by last tokens")

    def check_against(self, name: str, outputs: int, positions: int) -> None:
        found = int(self.spans[:, 1].max(initial=-1)) + 1
        self.expect_count(name, found, "tokens", positions, "that input has")

    @property
    def holds_output(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class SentenceWords(TracedStructure):
    """A document: the W words of the S sentences that are the positions of an input.

    words       all words, one sentence after another
    counts      (S,) words of each sentence
    weights     (W,) the weight of each word in its sentence; None without such an attention
    sentences   (S,) the weight of each sentence; None without such an attention
    truth       (W,) 1 for the words that decide the answer, 0 for others; None if not known
    """

    kind: ClassVar[str] = "words"
    arrays: ClassVar[Mapping[str, type]] = {
        "counts": np.int64, "weights": np.float64, "sentences": np.float64, "truth": np.int64,
    }  # fmt: skip

    words: Sequence[str]
    counts: Places
    weights: Numbers | None = None
    sentences: Numbers | None = None
    truth: Places | None = None

    def check(self) -> None:
        self.expect_shape("counts", (None,), "words of each sentence")
        total = int(self.counts.sum())
        if total != len(self.words):
            raise RegardError(f"words: {len(self.words)} words, but the sentences have {total} in all.")
        self.expect_shape("weights", (total,), "a weight for each word")
        self.expect_shape("sentences", (len(self.counts),), "a weight for each sentence")
        self.expect_shape("truth", (total,), "0 or 1 for each word")

    def check_against(self, name: str, outputs: int, positions: int) -> None:
        if positions != len(self.words):  # words may be attended to directly
            self.expect_count(name, len(self.counts), "sentences", positions, "that input has")

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
