"""Recursive networks against a plain recursion, and soft composition against all trees."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.data.batch import Forest, Tokens
from regard.data.columns import BracketsColumn
from regard.nn import Embedding, TreeEncoder, make_composer
from regard.structures import BinaryTree
from regard.worlds import world

NAMES = ("rnn", "lstm", "tensor", "child-sum")
TREES = ["(a (b c) d e)", "((a (b (c (d e)))) a)", "a", "((a b))", "(a b c d e (a b c) (d e))"]


def encoder(name: str, structure: Any = "given", size: int = 6) -> TreeEncoder:
    torch.manual_seed(1)
    made = TreeEncoder(Embedding(12, 5), make_composer(name, 5, size), structure=structure).double()
    return made.eval()


def column(name: str, side: str = "left") -> BracketsColumn:
    needed: Any = None if name == "child-sum" else side
    made = BracketsColumn("tree", labels=False, binarize=needed)
    made.learn(["(a b c d e)"])
    return made


def forest(name: str, trees: list[str] = TREES, side: str = "left") -> Forest:
    made = column(name, side)
    return made.collate([made.encode(tree) for tree in trees])


def recursion(made: TreeEncoder, given: Forest, row: int, node: int) -> Tensor:
    """The state of a node by the equations of the papers, one node at a time."""
    below = [child for child in range(node) if int(given.parents[row, child]) == node]
    weights: Any = made.composer
    if not below:
        return weights.leaf(made.embedding(given.ids[row, node]))
    states = [recursion(made, given, row, child) for child in below]
    if len(states) == 1 and not weights.any_number:
        return states[0]
    return by_hand(weights, states)


def by_hand(weights: Any, states: list[Tensor]) -> Tensor:
    name, size = type(weights).Options.type, weights.size
    h, m = [one[:size] for one in states], [one[size:] for one in states]
    if name == "child-sum":
        total = sum(h[1:], h[0])
        i, u, o = (weights.node.weight @ total + weights.node.bias).split(size)
        memory = i.sigmoid() * u.tanh()
        for one, kept in zip(h, m, strict=True):
            memory = memory + (weights.forget.weight @ one + weights.forget.bias).sigmoid() * kept
        return torch.cat([o.sigmoid() * memory.tanh(), memory])
    both = torch.cat(h)
    linear = weights.node.weight @ both + weights.node.bias
    if name == "lstm":
        i, f, g, o, u = linear.split(size)
        memory = i.sigmoid() * u.tanh() + f.sigmoid() * m[0] + g.sigmoid() * m[1]
        return torch.cat([o.sigmoid() * memory.tanh(), memory])
    if name == "tensor":
        linear = linear + torch.stack([both @ one @ both for one in weights.tensor])
    return linear.tanh()


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", NAMES)
def test_heights_at_once_equal_one_node_after_another(name: str, side: str) -> None:
    made, given = encoder(name), forest(name, side=side)
    memory = made(given)
    roots = []
    for row, length in enumerate(given.lengths.tolist()):
        kept = [node for node in range(length) if int(given.labels[row, node]) != -3]
        states = [made.composer.output(recursion(made, given, row, node)) for node in kept]
        torch.testing.assert_close(
            memory.values[row, : len(kept)], torch.stack(states), rtol=1e-10, atol=1e-10
        )
        assert int(memory.mask[row].sum()) == len(kept)
        roots.append(states[-1])
    torch.testing.assert_close(memory.summary, torch.stack(roots), rtol=1e-10, atol=1e-10)
    parameters = [weight for weight in made.parameters() if weight.requires_grad]
    mine = torch.autograd.grad(memory.summary.pow(2).sum(), parameters)
    theirs = torch.autograd.grad(torch.stack(roots).pow(2).sum(), parameters)
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def test_padding_and_neighbours_change_nothing() -> None:
    made = encoder("lstm")
    together = made(forest("lstm"))
    for row, tree in enumerate(TREES):
        alone = made(forest("lstm", [tree]))
        torch.testing.assert_close(alone.summary[0], together.summary[row])
        count = int(alone.mask.sum())
        torch.testing.assert_close(alone.values[0], together.values[row, :count])
        assert alone.above is not None and together.above is not None
        assert alone.above[0].tolist() == together.above[row, :count].tolist()


def test_the_memory_holds_the_nodes_of_the_text_alone() -> None:
    memory = encoder("rnn")(forest("rnn", ["(a (b c) d e)"]))
    assert memory.layout == "tree" and memory.above is not None
    assert memory.above[0].tolist() == [6, 3, 3, 6, 6, 6, -1]


@pytest.mark.parametrize(
    ("structure", "tree"),
    [("chain", "((((a b) c) d) e)"), ("balanced", "(((a b) c) (d e))")],
)
@pytest.mark.parametrize("name", ["lstm", "child-sum"])
def test_shapes_that_need_no_parse(structure: str, tree: str, name: str) -> None:
    given = forest(name, [tree, "(a b)"])
    a, b, c, d, e = (one for one in given.ids[0].tolist() if one)
    words = Tokens(torch.tensor([[a, b, c, d, e], [a, b, 0, 0, 0]]), torch.tensor([5, 2]))
    found, wanted = encoder(name, structure)(words), encoder(name)(given)
    torch.testing.assert_close(found.summary, wanted.summary)
    torch.testing.assert_close(found.values[0], wanted.values[0])
    torch.testing.assert_close(
        encoder(name, structure)(given).summary, wanted.summary
    )  # only the words of the given trees are used


def all_trees(first: int, last: int) -> Iterator[Any]:
    """Every binary tree over first … last: a word, or a pair of trees."""
    if first == last:
        yield first
    for cut in range(first, last):
        for left in all_trees(first, cut):
            for right in all_trees(cut + 1, last):
                yield left, right


def spans_of(tree: Any) -> list[tuple[int, int]]:
    if isinstance(tree, int):
        return [(tree, tree)]
    left, right = spans_of(tree[0]), spans_of(tree[1])
    return [*left, *right, (left[-1][0], right[-1][1])]


def expected(made: TreeEncoder, leaves: Tensor, scores: Tensor, first: int, last: int) -> Tensor:
    """h of a span by enumerating trees: q(cut) is its share of the probability of all trees over the span."""
    if first == last:
        return leaves[first]
    total, shares, vectors = 0.0, [], []
    for cut in range(first, last):
        share = torch.zeros((), dtype=torch.float64)
        for tree in all_trees(first, last):
            left, _ = spans_of(tree[0])[-1], None
            if left == (first, cut):
                share = share + sum(scores[i, j] for i, j in spans_of(tree)).exp()
        shares.append(share)
        sides = expected(made, leaves, scores, first, cut), expected(made, leaves, scores, cut + 1, last)
        vectors.append(made.composer.pair(*sides))
        total = total + share
    return sum(share / total * vector for share, vector in zip(shares, vectors, strict=True))


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_latent_trees_are_an_expectation_over_cuts(name: str) -> None:
    made = encoder(name, "latent")
    words = Tokens(torch.tensor([[4, 6, 5, 8], [7, 5, 9, 0]]), torch.tensor([4, 3]))
    memory = made(words)
    for row, count in enumerate([4, 3]):
        leaves = made.composer.leaf(made.embedding(words.ids[row, :count]))
        scores = made.span_scores(made.composer.output(leaves)[None])[0]
        wanted = made.composer.output(expected(made, leaves, scores, 0, count - 1))
        torch.testing.assert_close(memory.summary[row], wanted, rtol=1e-10, atol=1e-10)
        best = max(
            all_trees(0, count - 1), key=lambda tree: float(sum(scores[i, j] for i, j in spans_of(tree)))
        )
        trees = BinaryTree(scores)
        assert {tuple(span) for span in trees.mode.nonzero().tolist()} == set(spans_of(best))
        assert int(memory.mask[row].sum()) == 2 * count - 1
        assert made.position_names(words)[row][-1].count(" ") == count - 1  # type: ignore[index]


@torch.no_grad()
def test_where_one_tree_is_certain_it_is_composed() -> None:
    made, given = encoder("lstm", "latent"), forest("lstm", ["((a b) (c d))"])
    certain = torch.full((1, 4, 4), 0.0).double()
    certain[0, 0, 1] = certain[0, 2, 3] = 1e4
    made.span_scores = lambda states: certain  # type: ignore[method-assign, assignment]
    torch.testing.assert_close(made(given).summary, encoder("lstm")(given).summary)


def test_scores_of_spans_learn() -> None:
    made = encoder("rnn", "latent")
    made(Tokens(torch.tensor([[4, 6, 5, 8]]), torch.tensor([4]))).summary.sum().backward()
    assert made.span is not None and made.span.weight.grad is not None
    assert float(made.span.weight.grad.abs().sum()) > 0


@torch.no_grad()
def test_a_tree_three_thousand_nodes_high() -> None:
    made = BracketsColumn("tree", binarize="left")
    text = "(S " * 3000 + "a" + ")" * 3000
    made.learn([text])
    memory = encoder("rnn")(made.collate([made.encode(text), made.encode("(S a)")]))
    torch.testing.assert_close(
        memory.summary[0], memory.summary[1]
    )  # a node with one child has the state of its child
    assert memory.values.shape[1] == 3000


def test_heights_at_once_are_faster() -> None:
    rows = world("expressions", train=64, dev=0, test=0).splits()["train"]
    made = BracketsColumn("tree", labels=False, binarize="left")
    made.learn([row["tree"] for row in rows])
    given = made.collate([made.encode(row["tree"]) for row in rows])
    reader = TreeEncoder(Embedding(made.size, 8), make_composer("lstm", 8, 8)).double().eval()
    with torch.no_grad():
        reader(given)
        begun = time.perf_counter()
        for row, length in enumerate(given.lengths[:16].tolist()):
            recursion(reader, given, row, length - 1)
        naive = (time.perf_counter() - begun) * len(rows) / 16
        batched = min(timed(reader, given) for _ in range(3))
    assert batched < naive / 4


def timed(reader: TreeEncoder, given: Forest) -> float:
    begun = time.perf_counter()
    reader(given)
    return time.perf_counter() - begun
