"""Forced and forbidden arcs and segments: their marginals equal those of an enumeration of what obeys."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from regard import Model, RegardError, Spec
from regard.model.edits import ArcEdit, Edit, SegmentEdit, ZeroEdit

from .small import build, spec
from .test_structures import chain_of, segmental

SENTENCE = "a b c d"
ROWS = [{"words": "a b c d", "tree": "2 0 2 3"}, {"words": "d c b", "tree": "0 1 2"}]


def parser(structure: str, decode: str = "marginal") -> Model:
    torch.manual_seed(3)
    document = {
        "inputs": {"words": {"type": "text", "unit": "word"}},
        "outputs": {"tree": {"type": "tree", "of": "words"}},
        "encoder": {"size": 6, "embedding": 4},
        "decoder": {"type": "tree", "size": 8, "structure": structure, "decode": decode},
    }
    model = Model.build(Spec.parse(document), rows=ROWS).eval()
    with torch.no_grad():
        for weight in model.network.parameters():
            weight.mul_(3)
    return model


def is_tree(heads: Sequence[int], projective: bool) -> bool:
    """Whether heads (from 1, 0 is the root) are a tree with one root; projective if no arcs cross."""
    if sum(head == 0 for head in heads) != 1:
        return False
    for word in range(1, len(heads) + 1):
        seen = set()
        while word:
            if word in seen:
                return False
            seen.add(word)
            word = heads[word - 1]
    arcs = [(min(head, word), max(head, word)) for word, head in enumerate(heads, 1)]
    crossing = any(a < c < b < d for (a, b), (c, d) in itertools.permutations(arcs, 2))
    return not (projective and crossing)


def by_enumeration(model: Model, projective: bool, obeys: Callable[[Sequence[int]], bool]) -> np.ndarray:
    """(N+1, N+1) p(h is the head of m) over the trees that obey, from the scores of single arcs."""
    decoder: Any = model.network.decoders["tree"]
    memory = model.network.encode(model.dataset([model.row(SENTENCE)]).batch([0]))["words"]
    with torch.no_grad():
        scores = decoder.distribution(decoder.vectors(memory), torch.tensor([4])).potentials[0][0].double()
    total, table = 0.0, np.zeros((5, 5))
    for heads in itertools.product(range(5), repeat=4):
        if is_tree(heads, projective) and obeys(heads):
            weight = float(np.exp(sum(float(scores[head, word]) for word, head in enumerate(heads, 1))))
            total += weight
            for word, head in enumerate(heads, 1):
                table[head, word] += weight
    return table / total


@pytest.mark.parametrize("structure", ["projective", "spanning"])
@pytest.mark.parametrize(
    ("edits", "obeys"),
    [
        ([ArcEdit(head=4, dependent=1)], lambda heads: heads[0] == 4),
        ([ArcEdit(head=0, dependent=2, how="forbid")], lambda heads: heads[1] != 0),
        (
            [ArcEdit(head=3, dependent=2), ArcEdit(head=2, dependent=1, how="forbid")],
            lambda heads: heads[1] == 3 and heads[0] != 2,
        ),
    ],
)
def test_marginals_of_trees_with_edited_arcs(
    structure: str, edits: list[Edit], obeys: Callable[[Sequence[int]], bool]
) -> None:
    for decode in ("marginal", "map"):
        model = parser(structure, decode)
        found = model.predict(SENTENCE, look=edits)
        assert found.trace is not None
        tree: Any = found.trace.structures["words"]
        wanted = by_enumeration(model, structure == "projective", obeys)
        np.testing.assert_allclose(tree.marginals, wanted, atol=1e-5)
        assert is_tree(list(tree.heads), structure == "projective") and obeys(list(tree.heads))
    free: Any = model.predict(SENTENCE).trace
    assert np.abs(free.structures["words"].marginals - wanted).max() > 1e-3


def test_arcs_of_a_self_attentive_encoder_are_edited() -> None:
    """The encoder finds soft parents; the marginals of its tree obey, and the answer changes."""
    model = build(
        spec(
            inputs={"source": {"type": "text", "unit": "char"}},
            encoder={"size": 8, "embedding": 6, "parents": {"size": 5}},
            outputs={"topic": {"type": "label"}},
            decoder={"type": "label"},
            attention={"score": "dot"},
        )
    )
    free, edited = (model.predict("bead", look=look) for look in (None, "4>1 !0>2"))
    assert free.trace is not None and edited.trace is not None
    tree: Any = edited.trace.structures["source"]
    assert tree.marginals[4, 1] == pytest.approx(1.0, abs=1e-6)
    assert tree.marginals[0, 2] == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(tree.marginals[:, 1:].sum(0), 1.0, atol=1e-5)


def is_segment(z: Sequence[int], start: int, end: int) -> bool:
    """Whether [start, end) is a whole segment of a labeling."""
    edges = [z[place] for place in (start - 1, end) if 0 <= place < len(z)]
    return all(z[start:end]) and not any(edges)


@pytest.mark.parametrize(
    ("edits", "obeys"),
    [
        ("1..3-1", lambda z: is_segment(z, 1, 3)),
        ("!1..3-1", lambda z: not is_segment(z, 1, 3)),
        ("0..1-* 3..5-1", lambda z: is_segment(z, 0, 1) and is_segment(z, 3, 5)),
        (
            "!0..5-1 !2..3-1 1..2-1",
            lambda z: not is_segment(z, 0, 5) and not is_segment(z, 2, 3) and is_segment(z, 1, 2),
        ),
        (
            "!0..5-1 !2..3-1 !0..1-1",
            lambda z: not any(is_segment(z, *one) for one in ((0, 5), (2, 3), (0, 1))),
        ),
    ],
)
def test_marginals_of_edited_segments(edits: str, obeys: Callable[[Sequence[int]], bool]) -> None:
    model = segmental(search={"min_length": 3, "max_length": 3})
    found = model.predict("abcde", prefix="A", look=edits)
    assert found.trace is not None
    labelings = np.array(list(itertools.product((0, 1), repeat=5)))
    earlier = [] if "*" not in edits else [SegmentEdit(step=0, start=0, end=1)]
    if not earlier:
        likely = chain_of(model, "abcde", ["A"]) * [obeys(z) for z in labelings]
        np.testing.assert_allclose(
            found.trace.attention["source"][1], likely @ labelings / likely.sum(), atol=1e-5
        )
    else:  # the first step is edited too, which changes the state of the second
        first = chain_of(model, "abcde", []) * [is_segment(z, 0, 1) for z in labelings]
        np.testing.assert_allclose(
            found.trace.attention["source"][0], first @ labelings / first.sum(), atol=1e-5
        )
        assert found.trace.attention["source"][1, [0, 3, 4]] == pytest.approx([1, 1, 1], abs=1e-6)


def test_structures_that_cannot_be_edited_are_refused() -> None:
    model = parser("projective")
    for look, says in (
        ([ArcEdit(head=1, dependent=2), ArcEdit(head=2, dependent=1)], "no tree obeys"),
        ([ArcEdit(head=1, dependent=3), ArcEdit(head=2, dependent=4)], "no tree obeys"),
        ([ArcEdit(head=1, dependent=2), ArcEdit(head=3, dependent=2)], "word 2 would have no head"),
        ([ArcEdit(head=1, dependent=5)], "no word 5; the words of 'words' are 1 to 4"),
        ([ZeroEdit(positions=[0])], "no attention to override"),
    ):
        with pytest.raises(RegardError, match=says):
            model.predict(SENTENCE, look=look)
    with pytest.raises(RegardError, match="no tree to edit"):
        build(spec()).predict("bead", look="1>2")
    with pytest.raises(RegardError, match="selects no segments"):
        build(spec()).predict("bead", look="1..2-0")
    with pytest.raises(RegardError, match="no segmentation obeys"):
        segmental().predict("abcde", look="1..3-0 2..4-0")
