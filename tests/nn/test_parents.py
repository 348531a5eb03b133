"""Soft parents against enumeration of all trees, and given parents against the heads."""

from __future__ import annotations

import itertools

import pytest
import torch

from regard.errors import RegardError
from regard.nn import Embedding, MeanEncoder, ParentedEncoder, Parents
from regard.nn.heads import HeadMarginals

from .conftest import SOURCE, VOCABULARY

LENGTHS = torch.tensor([4, 2, 3])


def layer(select: str, **options: object) -> Parents:
    torch.manual_seed(3)
    parents = Parents(5, select=select, size=4, **options).double()
    for parameter in parents.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return parents


def values(rows: int = 3, words: int = 4) -> torch.Tensor:
    torch.manual_seed(4)
    return torch.randn(rows, words, 5, dtype=torch.float64)


def all_trees(words: int, *, projective: bool) -> list[tuple[int, ...]]:
    """Every assignment of heads in which all words reach the root symbol and exactly one is its child."""
    found = []
    for heads in itertools.product(range(words + 1), repeat=words):
        if heads.count(0) != 1:
            continue
        above = {word: heads[word - 1] for word in range(1, words + 1)}

        def ancestors(word: int, above: dict[int, int] = above) -> list[int]:
            way = []
            while word and len(way) <= words:
                word = above[word]
                way.append(word)
            return way

        if not all(0 in ancestors(word) for word in above):
            continue
        nested = all(
            head in [between, *ancestors(between)]
            for word, head in above.items()
            for between in range(min(word, head) + 1, max(word, head))
        )
        if nested or not projective:
            found.append(heads)
    return found


@pytest.mark.parametrize("score", ["additive", "general"])
@pytest.mark.parametrize("select", ["projective", "spanning"])
def test_soft_parents_are_the_expected_heads_over_all_trees(select: str, score: str) -> None:
    parents, x = layer(select, score=score), values()
    soft, arcs = parents(x, LENGTHS)
    best = arcs.heads()
    for row, words in enumerate(LENGTHS.tolist()):
        trees = all_trees(words, projective=select == "projective")
        scores = torch.tensor(
            [
                sum(arcs.scores.detach()[row, word - 1, head] for word, head in enumerate(tree, 1))
                for tree in trees
            ]
        )
        chances = torch.softmax(scores, 0)
        rooted = torch.cat([parents.root[None], x[row]])  # (N+1, D)
        for word in range(words):
            expected = sum(chance * rooted[tree[word]] for chance, tree in zip(chances, trees, strict=True))
            torch.testing.assert_close(soft[row, word], expected)
        assert tuple(best[row, :words].tolist()) == trees[int(scores.argmax())]
        assert (best[row, words:] == -1).all()
        assert (soft[row, words:] == 0).all()


def test_words_that_choose_alone() -> None:
    parents, x = layer("softmax"), values()
    soft, arcs = parents(x, LENGTHS)
    rooted = torch.cat([parents.root[None], x[0]])
    for word in range(1, 5):
        others = [head for head in range(5) if head != word]
        chances = torch.softmax(arcs.scores[0, word - 1, others], 0)
        torch.testing.assert_close(soft[0, word - 1], chances @ rooted[others])
        assert int(arcs.heads()[0, word - 1]) == others[int(chances.argmax())]
    assert (arcs.marginals[1, :, 3:] == 0).all() and (arcs.marginals[1, 3:] == 0).all()


def test_arcs_have_a_direction() -> None:
    for score in ("additive", "general"):
        scores = layer("softmax", score=score)(values(), LENGTHS)[1].scores
        assert not torch.allclose(scores[:, :, 1:], scores[:, :, 1:].transpose(1, 2))


def test_given_heads_are_the_parents() -> None:
    parents, x = layer("given"), values(1)
    heads = torch.tensor([[2, 0, 2, 3]])
    soft, arcs = parents(x, torch.tensor([4]), heads)
    expected = torch.stack([x[0, 1], parents.root, x[0, 1], x[0, 2]])
    torch.testing.assert_close(soft[0], expected)
    assert torch.equal(arcs.heads(), heads)
    with pytest.raises(RegardError, match="needs a tree from the data"):
        parents(x, torch.tensor([4]))


@pytest.mark.parametrize("select", ["softmax", "projective", "spanning"])
def test_padding_changes_nothing_and_gradients_flow(select: str) -> None:
    parents, x = layer(select), values().requires_grad_()
    soft, _ = parents(x, LENGTHS)
    wider, _ = parents(torch.nn.functional.pad(x, (0, 0, 0, 2), value=9.0), LENGTHS)
    for row, words in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(soft[row, :words], wider[row, :words])
    # The parser learns from the use of the parents: every weight gets a gradient above rounding error.
    (soft * values(3).flip(0)).sum().backward()
    for name, parameter in parents.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 1e-6, name
    assert (x.grad[1, 2:] == 0).all()


def test_gradient_of_soft_parents_is_that_of_finite_differences() -> None:
    parents, x = layer("projective"), values(2, 3).requires_grad_()
    lengths = torch.tensor([3, 2])
    assert torch.autograd.gradcheck(lambda x: parents(x, lengths)[0], (x,))


def test_an_encoder_with_parents_keeps_its_values_beside_them() -> None:
    torch.manual_seed(1)
    plain = MeanEncoder(Embedding(VOCABULARY, 5))
    encoder = ParentedEncoder(plain, Parents(5, size=4))
    memory, alone = encoder(SOURCE), plain(SOURCE)
    assert memory.values.shape == (3, 5, 10) and encoder.value_size == 10
    torch.testing.assert_close(memory.values[..., :5], alone.values)
    torch.testing.assert_close(memory.summary, alone.summary)
    assert isinstance(memory.heads, HeadMarginals)
    chosen = memory.select(torch.tensor([2, 0]))
    assert torch.equal(chosen.heads.heads(), memory.heads.heads()[[2, 0]])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("select", ["softmax", "projective", "spanning"])
def test_cuda_gives_the_numbers_of_the_processor(select: str) -> None:
    parents, x = layer(select).float(), values().float()
    found = []
    for device in ("cpu", "cuda"):
        parents.to(device).zero_grad()
        with torch.backends.cudnn.flags(allow_tf32=False):  # otherwise cuDNN multiplies with 10-bit mantissas
            soft, arcs = parents(x.to(device), LENGTHS.to(device))
            (soft * x.flip(0).to(device)).sum().backward()
        seen = [soft, arcs.marginals, arcs.heads(), *(one.grad for one in parents.parameters())]
        found.append([one.detach().cpu().clone() for one in seen])
    for here, there in zip(*found, strict=True):
        torch.testing.assert_close(there, here, rtol=1e-3, atol=1e-4)
