"""The chain of tags and the tree decoder, against enumeration."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise, product
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from regard.data.batch import Tokens, Trees
from regard.data.columns.spans import may_follow
from regard.errors import RegardError
from regard.nn import CRFDecoder, Memory, TreeDecoder
from regard.nn.decoders.tags import TagsDecoder, allowed_tags

WIDTH = 5
SOURCES = {"words": SimpleNamespace(value_size=WIDTH, summary_size=WIDTH)}


def memory(lengths: list[int], seed: int = 0) -> Memory:
    torch.manual_seed(seed)
    values = torch.randn(len(lengths), max(lengths), WIDTH)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    return Memory(values, mask, values[:, 0])


def randomised(module: torch.nn.Module) -> torch.nn.Module:
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return module.eval()


def sequence_score(decoder: CRFDecoder, values: Tensor, tags: tuple[int, ...]) -> float:
    nodes = values @ decoder.output.weight.T + decoder.output.bias
    total = decoder.start[tags[0]] + decoder.end[tags[-1]] + sum(nodes[n, tag] for n, tag in enumerate(tags))
    return (total + sum(decoder.transitions[a, b] for a, b in pairwise(tags))).item()


def distribution(decoder: CRFDecoder, values: Tensor, legal=lambda tags: True) -> dict[tuple, float]:
    scores = {
        tags: math.exp(sequence_score(decoder, values, tags))
        for tags in product(range(len(decoder.start)), repeat=len(values))
        if legal(tags)
    }
    total = sum(scores.values())
    return {tags: score / total for tags, score in scores.items()}


def test_the_chain_is_the_distribution_over_all_sequences() -> None:
    decoder = randomised(CRFDecoder(3, SOURCES))
    seen = memory([4, 2])
    target = Tokens(torch.tensor([[0, 2, 1, 1], [2, 0, 0, 0]]), torch.tensor([4, 2]))
    truth = [distribution(decoder, seen.values[0]), distribution(decoder, seen.values[1, :2])]
    loss = decoder.loss({"words": seen}, target)
    assert float(loss.total) == pytest.approx(
        -math.log(truth[0][0, 2, 1, 1]) - math.log(truth[1][2, 0]), rel=1e-4
    )
    assert float(loss.count) == 6
    found = decoder.predict({"words": seen})
    best = [max(each, key=each.__getitem__) for each in truth]
    assert [tuple(row[:n]) for row, n in zip(found.value.tolist(), (4, 2), strict=True)] == best
    assert found.scores.tolist() == pytest.approx(
        [math.log(each[tags]) for each, tags in zip(truth, best, strict=True)], rel=1e-5
    )
    marginal = sum(p for tags, p in truth[0].items() if tags[2] == best[0][2])
    assert math.exp(found.token_scores[0, 2]) == pytest.approx(marginal, rel=1e-4)


def test_marginal_decoding_takes_the_likeliest_tag_of_each_position() -> None:
    different = 0
    for seed in range(20):
        torch.manual_seed(seed)
        decoder = randomised(CRFDecoder(3, SOURCES, decode="marginal"))
        seen = memory([3], seed)
        truth = distribution(decoder, seen.values[0])
        wanted = []
        for place in range(3):
            shares = [sum(p for tags, p in truth.items() if tags[place] == tag) for tag in range(3)]
            wanted.append(shares.index(max(shares)))
        assert decoder.predict({"words": seen}).value[0].tolist() == wanted
        different += tuple(wanted) != max(truth, key=truth.__getitem__)
    assert different, "or the test could not tell it from Viterbi"


@pytest.mark.parametrize("scheme", ["bio", "bioes"])
def test_independent_tags_are_the_most_probable_that_a_scheme_allows(scheme: str) -> None:
    classes = ["B-X", "I-X", "O"] if scheme == "bio" else ["B-X", "E-X", "I-X", "O", "S-X"]
    allowed = allowed_tags(classes, scheme)  # type: ignore[arg-type]
    different = 0
    for seed in range(8):
        torch.manual_seed(seed)
        decoder = TagsDecoder(len(classes), SOURCES, allowed=allowed).eval()
        seen = memory([4, 2], 4)
        found = decoder.predict({"words": seen})
        logs = torch.log_softmax(decoder({"words": seen}), -1).detach()
        for row, length in enumerate((4, 2)):
            best = max(
                (sum(float(logs[row, j, tag]) for j, tag in enumerate(tags)), tags)
                for tags in product(range(len(classes)), repeat=length)
                if all(
                    may_follow(before, after, scheme)  # type: ignore[arg-type]
                    for before, after in zip(
                        [None, *(classes[tag] for tag in tags)],
                        [*(classes[tag] for tag in tags), None],
                        strict=True,
                    )
                )
            )
            assert tuple(found.value[row, :length].tolist()) == best[1]
            assert float(found.scores[row]) == pytest.approx(best[0], abs=1e-4)
            different += best[1] != tuple(logs[row, :length].argmax(-1).tolist())
    assert different


@pytest.mark.parametrize("scheme", ["bio", "bioes"])
def test_constraints_give_illegal_sequences_probability_zero(scheme: str) -> None:
    classes = ["B-X", "I-X", "O"] if scheme == "bio" else ["B-X", "E-X", "I-X", "O", "S-X"]

    def legal(tags: tuple[int, ...]) -> bool:
        named = [classes[tag] for tag in tags]
        steps = zip([None, *named], [*named, None], strict=True)
        return all(may_follow(before, after, scheme) for before, after in steps)  # type: ignore[arg-type]

    torch.manual_seed(1)
    allowed = allowed_tags(classes, scheme)  # type: ignore[arg-type]
    decoder = randomised(CRFDecoder(len(classes), SOURCES, allowed=allowed))
    seen = memory([3, 1], 4)
    truth = distribution(decoder, seen.values[0], legal)
    chain = decoder.chain(seen)
    for tags in product(range(len(classes)), repeat=3):
        states = torch.tensor([tags, (classes.index("O"), 0, 0)])
        probability = float(chain.log_prob(chain.value_of(states))[0].exp())
        assert probability == pytest.approx(truth.get(tags, 0.0), abs=1e-6)
    assert legal(tuple(decoder.predict({"words": seen}).value[0].tolist()))
    target = Tokens(
        torch.tensor([list(max(truth, key=truth.__getitem__)), [classes.index("O"), 0, 0]]),
        torch.tensor([3, 1]),
    )
    decoder.loss({"words": seen}, target).total.backward()
    assert all(torch.isfinite(p.grad).all() for p in decoder.parameters() if p.grad is not None)


def trees(length: int, *, projective: bool, single_root: bool) -> Iterator[tuple[int, ...]]:
    for heads in product(range(length + 1), repeat=length):
        roots = heads.count(0)
        if roots < 1 or (single_root and roots > 1):
            continue
        if not all(_reaches(heads, word) for word in range(1, length + 1)):
            continue
        ends = [sorted((head, word)) for word, head in enumerate(heads, start=1)]
        if projective and any(a < c < b < d for a, b in ends for c, d in ends):
            continue
        yield heads


def _reaches(heads: tuple[int, ...], word: int) -> bool:
    for _ in range(len(heads)):
        word = heads[word - 1] if word else 0
    return word == 0


def biaffine(module: torch.nn.Module, vectors: Tensor, head: int, word: int) -> Tensor:
    """Dozat and Manning's formula: U, the two linear terms and the bias are blocks of one weight."""
    f = torch.nn.functional.leaky_relu
    x, y = f(module.heads(vectors[head]), 0.1), f(module.dependents(vectors[word]), 0.1)  # type: ignore[operator]
    weight = module.weight
    quadratic = torch.stack([x @ u[:-1, :-1] @ y for u in weight])  # type: ignore[union-attr]
    return quadratic + weight[:, :-1, -1] @ x + weight[:, -1, :-1] @ y + weight[:, -1, -1]  # type: ignore[index]


@pytest.mark.parametrize("structure", ["projective", "spanning"])
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("decode", ["map", "marginal"])
def test_the_tree_decoder_is_the_distribution_over_all_trees(
    structure: str, single_root: bool, decode: str
) -> None:
    torch.manual_seed(3)
    decoder = randomised(
        TreeDecoder(
            2, SOURCES, structure=structure, decode=decode, single_root=single_root, size=4, relation_size=3
        )  # type: ignore[arg-type]
    )
    seen, length = memory([4, 2], 5), 4
    vectors = torch.cat([decoder.root[None], seen.values[0]])
    s = torch.stack(
        [torch.stack([biaffine(decoder.arcs, vectors, h, m)[0] for m in range(5)]) for h in range(5)]
    )
    shares = {
        heads: math.exp(sum(float(s[head, word]) for word, head in enumerate(heads, start=1)))
        for heads in trees(length, projective=structure == "projective", single_root=single_root)
    }
    total = sum(shares.values())
    shares = {heads: share / total for heads, share in shares.items()}

    def log_relation(head: int, word: int) -> Tensor:
        return biaffine(decoder.relations, vectors, head, word).log_softmax(-1)

    gold, names = (2, 0, 2, 3), (0, 1, -1, 1)
    target = Trees(
        torch.tensor([gold, (0, 1, 0, 0)]), torch.tensor([names, (1, 0, 0, 0)]), torch.tensor([4, 2])
    )
    alone = Memory(seen.values[:1], seen.mask[:1], seen.summary[:1])
    loss = decoder.loss({"words": alone}, Trees(target.heads[:1], target.relations[:1], target.lengths[:1]))
    known = sum(
        float(log_relation(head, word)[name])
        for word, (head, name) in enumerate(zip(gold, names, strict=True), start=1)
        if name >= 0
    )
    assert float(loss.total) == pytest.approx(-math.log(shares[gold]) - known, rel=1e-4)
    assert float(loss.parts["arcs"]) == pytest.approx(-math.log(shares[gold]), rel=1e-4)

    marginals = torch.zeros(5, 5)
    for heads, share in shares.items():
        for word, head in enumerate(heads, start=1):
            marginals[head, word] += share
    found = decoder.predict({"words": seen})
    assert torch.allclose(found.distribution.marginals[0][:, 1:], marginals[:, 1:], atol=1e-5)
    if decode == "map":
        best = max(shares, key=shares.__getitem__)
    else:
        best = max(
            shares, key=lambda heads: sum(float(marginals[h, m]) for m, h in enumerate(heads, start=1))
        )
    assert tuple(found.heads[0].tolist()) == best
    relations = [int(log_relation(head, word).argmax()) for word, head in enumerate(best, start=1)]
    assert found.relations[0].tolist() == relations
    likely = sum(float(log_relation(head, word).max()) for word, head in enumerate(best, start=1))
    assert float(found.scores[0]) == pytest.approx(math.log(shares[best]) + likely, rel=1e-4)
    assert found.heads[1, 2:].tolist() == [0, 0], "nothing beyond the length"


def test_the_likelihood_is_that_of_the_structure() -> None:
    """The gathered scores of the heads equal `log_prob` if the heads form a tree."""
    decoder = randomised(TreeDecoder(0, SOURCES, size=4))
    seen = memory([4, 3], 2)
    heads = torch.tensor([[2, 0, 2, 3], [0, 1, 1, 0]])
    distribution = decoder.distribution(decoder.vectors(seen), torch.tensor([4, 3]))
    value = torch.zeros(2, 5, 5)
    for row, length in enumerate((4, 3)):
        value[row, heads[row, :length], torch.arange(1, length + 1)] = 1
    loss = decoder.loss({"words": seen}, Trees(heads, torch.zeros_like(heads), torch.tensor([4, 3])))
    assert float(loss.total) == pytest.approx(-float(distribution.log_prob(value).sum()), rel=1e-4)
    assert set(loss.parts) == {"likelihood"}


def test_sources_and_lengths_must_fit() -> None:
    with pytest.raises(RegardError, match="tree over 'story' needs a source of that name"):
        TreeDecoder(2, SOURCES, of="story")
    decoder = TreeDecoder(2, SOURCES)
    wrong = Trees(torch.zeros(1, 2, dtype=torch.long), torch.zeros(1, 2, dtype=torch.long), torch.tensor([2]))
    with pytest.raises(RegardError, match="heads for 2 words and 3 positions"):
        decoder.loss({"words": memory([3])}, wrong)
    with pytest.raises(RegardError, match="2 tags for 3 positions"):
        CRFDecoder(2, SOURCES).loss({"words": memory([3])}, Tokens(wrong.heads, wrong.lengths))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("structure", ["projective", "spanning"])
def test_cuda_gives_the_numbers_of_the_processor(structure: str) -> None:
    torch.manual_seed(0)
    tree = randomised(TreeDecoder(3, SOURCES, structure=structure, size=4, relation_size=3))  # type: ignore[arg-type]
    chain = randomised(
        CRFDecoder(5, SOURCES, allowed=allowed_tags(["B-X", "E-X", "I-X", "O", "S-X"], "bioes"))
    )
    seen = memory([7, 3], 1)
    heads = torch.tensor([[2, 0, 2, 5, 3, 5, 6], [0, 1, 2, 0, 0, 0, 0]])
    lengths = torch.tensor([7, 3])
    trees, tags = Trees(heads, heads % 3, lengths), Tokens(torch.full((2, 7), 3), lengths)
    found = []
    for device in ("cpu", "cuda"):
        here = Memory(seen.values.to(device), seen.mask.to(device), seen.summary.to(device))
        losses, answers = [], []
        for decoder, target in ((tree, trees), (chain, tags)):
            decoder.to(device)
            loss = decoder.loss({"words": here}, target.to(device))
            loss.total.backward()
            answer = decoder.predict({"words": here})
            losses += [loss.total.item(), float(sum(p.grad.abs().sum() for p in decoder.parameters()))]
            answers += [
                getattr(answer, "heads", None),
                getattr(answer, "value", None),
                answer.scores.tolist(),
            ]
            decoder.zero_grad()
        found.append((losses, [a.tolist() if isinstance(a, Tensor) else a for a in answers]))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-3)
    for cpu, cuda in zip(found[0][1], found[1][1], strict=True):
        assert cpu == cuda or cpu == pytest.approx(cuda, rel=1e-3)
