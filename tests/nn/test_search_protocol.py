"""A search needs only a decoder's protocol: a pointer decoder, against enumeration."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch

from regard.data.batch import Tokens
from regard.errors import RegardError
from regard.nn.search import Beam, Ensemble, Greedy, Limits, Sample, Stepwise, score

from .conftest import model
from .pointing import LENGTHS, PointerDecoder, enumerated, memory, stepper

ROWS = range(len(LENGTHS))


def test_stepwise_is_asked_of_the_protocol():
    assert isinstance(PointerDecoder(), Stepwise)
    assert isinstance(model()[1], Stepwise)
    assert not isinstance(torch.nn.Linear(1, 1), Stepwise)


@pytest.mark.parametrize("all_first", [False, True])
def test_enumeration_is_a_distribution(all_first):
    for row in ROWS:
        assert math.isclose(
            sum(map(math.exp, enumerated(memory(), row, all_first).values())), 1, abs_tol=1e-6
        )


@pytest.mark.parametrize("all_first", [False, True])
@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_a_wide_beam_finds_the_best_outputs_of_every_row(all_first, penalty):
    found = Beam(size=70, best=6, length_penalty=penalty)(stepper(memory(), all_first=all_first))
    for row in ROWS:
        outputs = enumerated(memory(), row, all_first)
        ranked = sorted(outputs, key=lambda output: -outputs[output] / ((6 + len(output)) / 6) ** penalty)
        for rank in range(6):
            if rank >= len(ranked):
                assert found.lengths[row, rank] == 0
                continue
            assert found.content(row, rank) == list(ranked[rank])
            assert math.isclose(float(found.scores[row, rank]), outputs[ranked[rank]], abs_tol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_narrow_beam_finds_outputs_that_exist(size):
    found = Beam(size=size, best=size)(stepper(memory()))
    for row in ROWS:
        outputs = enumerated(memory(), row)
        for rank in range(size):
            if found.lengths[row, rank]:
                expected = outputs[tuple(found.content(row, rank))]
                assert math.isclose(float(found.scores[row, rank]), expected, abs_tol=1e-5)


@pytest.mark.parametrize("all_first", [False, True])
def test_greedy_takes_the_best_choice_every_time(all_first):
    found = Greedy()(stepper(memory(), all_first=all_first))
    for row in ROWS:
        outputs, written = enumerated(memory(), row, all_first), ()
        while True:
            size = len(written)
            mass = {}
            for output, total in outputs.items():
                if output[:size] == written:
                    choice = (*output, 0)[size]
                    mass[choice] = mass.get(choice, 0.0) + math.exp(total)
            best = max(mass, key=lambda choice: mass[choice])
            if best == 0:
                break
            written = (*written, best)
        assert found.content(row) == list(written)
        assert math.isclose(float(found.scores[row, 0]), outputs[written], abs_tol=1e-5)
        assert found.lengths[row, 0] == len(written) + 1
        open_at_first = found.attention["source"][row, 0, 0]
        assert open_at_first.tolist() == memory().mask[row].float().tolist()


@pytest.mark.parametrize("all_first", [False, True])
def test_samples_follow_the_distribution_over_whole_outputs(all_first):
    count = 4000
    found = Sample(samples=count, seed=1)(stepper(memory(), all_first=all_first))
    for row in ROWS:
        outputs = enumerated(memory(), row, all_first)
        drawn = Counter(tuple(found.content(row, rank)) for rank in range(count))
        assert set(drawn) <= set(outputs)
        for output, total in outputs.items():
            spread = math.sqrt(math.exp(total) * (1 - math.exp(total)) / count)
            assert abs(drawn[output] / count - math.exp(total)) < 4.5 * spread + 1e-9


def test_an_ensemble_of_pointers_averages_their_probabilities():
    both = Ensemble([stepper(memory()), stepper(memory(seed=1))])
    found = Beam(size=70, length_penalty=0.0)(both)
    again = score(both, Tokens(torch.tensor([[1, 2], [1, 0], [4, 2], [0, 0]]), torch.tensor([2, 1, 2, 0])))
    assert again.tokens[:, 0].tolist() == [[1, 2, 0], [1, 0, 0], [4, 2, 0], [0, 0, 0]]
    assert again.lengths[:, 0].tolist() == [3, 2, 3, 1]
    for row in ROWS:
        assert found.scores[row, 0] >= again.scores[row, 0] - 1e-6
        assert again.scores[row, 0] > -math.inf


def test_members_that_end_differently_do_not_make_an_ensemble():
    encoder, decoder = model()
    del encoder
    other = stepper(memory())
    other.decoder = decoder
    other.end = 3
    with pytest.raises(RegardError, match="must begin and end"):
        Ensemble([stepper(memory()), other])


@pytest.mark.parametrize("search", [Greedy, Sample, lambda limits: Beam(3, limits=limits)])
def test_an_output_that_cannot_end_in_time_is_an_error(search):
    with pytest.raises(RegardError, match=r"row 3 of the batch.*no choice is possible.*Raise max_length"):
        search(limits=Limits(maximum=3))(stepper(memory(), all_first=True))
    assert search(limits=Limits(maximum=4))(stepper(memory(), all_first=True)).lengths[:, 0].tolist() == [
        4,
        2,
        5,
        3,
    ]
