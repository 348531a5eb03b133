"""Hard attention against enumeration of all draws, and the doubly stochastic penalty against sums by hand."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.data.batch import BEGIN, END
from regard.errors import RegardError
from regard.nn import Memory, TextObjective
from regard.nn.coverage import coverage_total
from regard.nn.decoders import RecurrentDecoder
from regard.nn.packing import Packing
from regard.nn.search import Greedy
from regard.nn.selections import Hard, SampledTraining, ScoreFunction, Selection, masked_softmax
from regard.parts import register

from .conftest import SOURCE, TARGET, model, tokens

ALWAYS = SampledTraining(reward=1.0, entropy=0.0, expected=0.0)
S, T = 3, 2


class Forced(Hard):
    """Attends to the given positions, one query after the other."""

    def __init__(self, positions: tuple[int, ...]) -> None:
        super().__init__()
        self.positions = list(positions)

    def draw(self, weights: Tensor, rows: Tensor) -> Tensor:
        chosen = [self.positions.pop(0) for _ in range(weights.shape[1])]
        return torch.nn.functional.one_hot(torch.tensor(chosen), S).to(weights).expand_as(weights)


def memory(rows: int) -> Memory:
    generator = torch.Generator().manual_seed(5)
    values = torch.randn(1, S, 8, generator=generator, dtype=torch.float64)
    return Memory(
        values.expand(rows, S, 8), torch.ones(rows, S, dtype=torch.bool), values.mean(1).expand(rows, 8)
    )


def drawing_decoder(drawing: SampledTraining, **options: Any) -> RecurrentDecoder:
    _, decoder = model(
        select=Hard(drawing=drawing),
        dtype=torch.float64,
        condition=("start", "attention"),
        **options,
    )
    return decoder.train()


def gradients(decoder: RecurrentDecoder, loss: Tensor) -> dict[str, Tensor]:
    named = dict(decoder.named_parameters())
    found = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
    return {
        name: torch.zeros_like(tensor) if gradient is None else gradient
        for (name, tensor), gradient in zip(named.items(), found, strict=True)
    }


def expected_gradient(decoder: RecurrentDecoder, target: list[int]) -> tuple[float, dict[str, Tensor]]:
    """∇ Σ_z p(z) · (−log p(y | z)), over all S^T draws."""
    assert decoder.reading is not None
    attention, plain = decoder.reading.attention("source"), decoder.reading.attention("source").select
    drawn, total = torch.ones(1, dtype=torch.bool), torch.zeros((), dtype=torch.float64)
    ids = torch.tensor([[1, *target]])[:, : len(target) + 1]
    for positions in itertools.product(range(S), repeat=T):
        attention.select = Forced(positions)
        packing = Packing.of(torch.tensor([T]), T)
        unrolled = decoder.unroll({"source": memory(1)}, _begin(ids), packing, drawing=drawn)
        log_p = (unrolled.looks["source"] * unrolled.drawn["source"]).sum(-1).log().sum()
        cost, _ = decoder.output.loss(unrolled.readouts, _following(target))
        total = total + log_p.exp() * cost
    attention.select = plain
    return total.item(), gradients(decoder, total)


def _begin(ids: Tensor) -> Tensor:
    return torch.cat([torch.full((1, 1), BEGIN), ids[:, 1:]], 1)[:, :T]


def _following(target: list[int]) -> Tensor:
    return torch.tensor([*target, END])


@pytest.mark.parametrize("options", [{}, {"state": "current"}, {"state": "current", "feed": False}], ids=str)
def test_the_mean_of_many_draws_is_the_gradient_by_enumeration(options: dict[str, Any]) -> None:
    decoder = drawing_decoder(ALWAYS, **options)
    cost, exact = expected_gradient(decoder, [7])
    rows = 40000
    torch.manual_seed(3)
    loss = decoder.loss({"source": memory(rows)}, tokens(*[[7]] * rows))
    assert float(loss.parts["likelihood"]) / rows == pytest.approx(cost, rel=0.01)
    assert decoder.score_function is not None
    sampled = gradients(decoder, loss.total / rows)
    without = gradients(
        decoder,
        RecurrentDecoder.loss(_unrewarded(decoder), {"source": memory(rows)}, tokens(*[[7]] * rows)).total
        / rows,
    )

    def distance(found: dict[str, Tensor]) -> float:
        """Distance of the whole gradient, relative to its length."""
        difference = sum(float((found[name] - exact[name]).square().sum()) for name in exact)
        return (difference / sum(float(gradient.square().sum()) for gradient in exact.values())) ** 0.5

    scores = [name for name in exact if ".score." in name]
    assert scores and all(float(exact[name].abs().max()) > 1e-3 for name in scores)
    assert distance(sampled) < 0.02
    assert distance(without) > 5 * distance(sampled)


def _unrewarded(decoder: RecurrentDecoder) -> RecurrentDecoder:
    assert decoder.score_function is not None
    decoder.score_function.drawing = replace(ALWAYS, reward=0.0)
    return decoder


def test_a_draw_takes_one_position_by_its_weight_and_none_that_is_missing() -> None:
    weights = torch.tensor([[[0.7, 0.3, 0.0]], [[0.0, 0.0, 0.0]], [[0.2, 0.5, 0.3]]]).repeat(1, 20000, 1)
    torch.manual_seed(0)
    drawn = Hard().draw(weights, torch.tensor([True, True, False]))
    assert drawn[0].sum(-1).eq(1).all() and drawn[1].eq(0).all()
    assert drawn[0].mean(0).tolist() == pytest.approx([0.7, 0.3, 0.0], abs=0.01)
    torch.testing.assert_close(drawn[2], weights[2])


def test_prediction_reads_the_mode_or_the_expectation() -> None:
    weights = torch.tensor([[[0.2, 0.5, 0.3]]])
    assert Hard().reading(weights).tolist() == [[[0.0, 1.0, 0.0]]]
    torch.testing.assert_close(Hard(read="expectation").reading(weights), weights)


def test_nothing_is_random_outside_training() -> None:
    encoder, decoder = model(select="hard")
    decoder.eval()
    memories = {"source": encoder(SOURCE)}
    first, second = decoder.loss(memories, TARGET), decoder.loss(memories, TARGET)
    assert first.total.item() == second.total.item() and set(first.parts) == {"likelihood"}
    found = decoder.predict(memories, Greedy())
    alone = decoder.predict({"source": encoder(SOURCE)}, Greedy())
    assert found.tokens.tolist() == alone.tokens.tolist()
    sums = found.attention["source"][0, 0].sum(-1)
    torch.testing.assert_close(sums[sums > 0], torch.ones_like(sums[sums > 0]))


@pytest.mark.parametrize("lasting", [True, False])
def test_credit_goes_to_the_words_that_follow_and_the_baseline_moves_after(lasting: bool) -> None:
    drawing = SampledTraining(reward=0.5, entropy=0.25, expected=0.0, decay=0.75)
    term = ScoreFunction(drawing, vocabulary=2, lasting=lasting)
    term.baseline.fill_(1.0)
    packing = Packing.of(torch.tensor([2, 1]), 2)  # packed: row 0 word 0, row 1 word 0, row 0 word 1
    costs = torch.tensor([4.0, 2.0, 3.0])
    weights = torch.tensor([[0.5, 0.5], [0.25, 0.75], [0.8, 0.2]])
    drawn = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    total, parts = term(costs, {"a": weights}, {"a": drawn}, torch.tensor([True, False]), packing)
    # Only row 0 drew: (4 + 3 − 2·1) log 0.5 + (3 − 1) log 0.2; without lasting effects, (4 − 1) log 0.5 + …
    credit = (5.0 if lasting else 3.0) * torch.tensor(0.5).log() + 2.0 * torch.tensor(0.2).log()
    entropy = -(weights * weights.log()).sum()
    torch.testing.assert_close(parts["draws"], credit)
    torch.testing.assert_close(total, 0.5 * credit - 0.25 * entropy)
    assert term.baseline.item() == pytest.approx(0.75 * 1.0 + 0.25 * 3.5)  # the baseline of row 0, which drew
    term(costs, {"a": weights}, {"a": drawn}, torch.tensor([False, False]), packing)
    assert term.baseline.item() == pytest.approx(0.75 * 1.0 + 0.25 * 3.5)


def test_no_row_draws_before_the_warm_up_is_over() -> None:
    term = ScoreFunction(SampledTraining(expected=0.0, warmup=2), vocabulary=2)
    device = torch.device("cpu")
    assert [term.rows(3, device).tolist() for _ in range(2)] == [[False] * 3] * 2
    resumed = ScoreFunction(SampledTraining(expected=0.0, warmup=2), vocabulary=2)
    resumed.load_state_dict(term.state_dict())
    assert resumed.rows(3, device).all()


def test_coverage_by_hand() -> None:
    # Row one has two words and three positions; row two has one word and two positions, so its third does not
    # count.
    packing = Packing.of(torch.tensor([2, 1]), 2)
    weights = torch.tensor([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [0.1, 0.2, 0.7]])
    mask = torch.tensor([[True, True, True], [True, True, False]])
    first = 0.4**2 + 0.3**2 + 0.3**2
    second = 0.75**2 + 0.25**2
    assert coverage_total(weights, mask, packing).item() == pytest.approx(first + second)


@pytest.mark.parametrize(
    "options",
    [{}, {"cell": "lstm"}, {"state": "current", "feed": False}, {"state": "current"}],
    ids=["fused", "plain", "at once", "fused current"],
)
@pytest.mark.parametrize("width", [None, 7])
def test_coverage_enters_the_loss_of_every_path(options: dict[str, Any], width: int | None) -> None:
    encoder, decoder = model(objective=TextObjective(coverage={"source": 0.5}), **options)
    target = tokens([5, 6], [7, 8, 9, 10], [4], width=width)
    memories = {"source": encoder(SOURCE)}
    loss = decoder.loss(memories, target)
    found = [0.0] * 3
    for row, ids in enumerate(([5, 6], [7, 8, 9, 10], [4])):
        alone = memories["source"].select(torch.tensor([row]))
        forced = decoder.unroll_plain(
            {"source": alone}, _whole(ids), Packing.of(torch.tensor([len(ids) + 1]), len(ids) + 1)
        )
        looked = forced.looks["source"].sum(0)[alone.mask[0]]
        found[row] = (1 - looked).square().sum().item()
    assert loss.parts["coverage"].item() == pytest.approx(sum(found), rel=1e-4)
    assert loss.total.item() == pytest.approx(loss.parts["likelihood"].item() + 0.5 * sum(found), rel=1e-4)
    loss.total.backward()
    plain = decoder.embedding.weight.grad.clone()
    decoder.zero_grad()
    decoder.objective = TextObjective()
    decoder.loss({"source": encoder(SOURCE)}, target).total.backward()
    assert not torch.allclose(plain, decoder.embedding.weight.grad, atol=1e-4)


def _whole(ids: list[int]) -> Tensor:
    return torch.tensor([[BEGIN, *ids]])


class Sampler(Selection):
    """What an author would write: softmax weights of which one is drawn, independent of `Hard`."""

    draws = True
    needs = frozenset({"costs"})

    @classmethod
    def equations(cls, options: Any, look: Any) -> list[str]:
        return [f"{look.weights} = softmax_{look.below}({look.energy})"]

    def forward(self, scores: Tensor, mask: Tensor, given: Any = None) -> Tensor:
        return masked_softmax(scores, mask.unsqueeze(1))

    def draw(self, weights: Tensor, rows: Tensor) -> Tensor:
        waits = torch.empty_like(weights).exponential_()
        first = (weights / waits).argmax(-1, keepdim=True)
        chosen = torch.zeros_like(weights).scatter_(-1, first, 1.0)
        return torch.where(rows[:, None, None], chosen, weights)


@pytest.mark.parametrize("drawing", [None, ALWAYS])
def test_a_selection_of_others_that_draws_is_trained_as_hard_attention_is(
    drawing: SampledTraining | None,
) -> None:
    found = []
    for select in (Sampler(), Hard(read="expectation", drawing=drawing)):
        if drawing is not None:
            select.drawing = drawing
        encoder, decoder = model(select=select, dtype=torch.float64)
        torch.manual_seed(4)
        loss = decoder.train().loss({"source": encoder(SOURCE)}, TARGET)
        assert {"draws", "entropy"} <= set(loss.parts)
        found.append([loss.total, loss.parts["draws"], loss.parts["entropy"]])
    torch.testing.assert_close(*found)


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"draw": Selection.draw}, r"does not write draw\(weights, rows\)"),
        ({"needs": frozenset()}, "needs the costs of the words after a sample"),
    ],
)
def test_a_selection_that_draws_and_cannot_is_not_registered(declared: dict[str, Any], words: str) -> None:
    with pytest.raises(RegardError, match=words):
        register("selection", "half-a-sampler")(type("HalfASampler", (Sampler,), declared))
