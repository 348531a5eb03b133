"""Searches, against brute force, each other and their definitions."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass

import pytest
import torch

from regard.data.batch import BEGIN, END, UNKNOWN
from regard.errors import RegardError
from regard.nn.memory import Memory
from regard.nn.search import Beam, Ensemble, Greedy, Limits, Sample, Stepper, score
from regard.nn.stepping import Step

from .conftest import SOURCE, model, tokens

pytestmark = pytest.mark.thinned(2)

KINDS = [
    {},
    {"state": "current"},
    {"cell": "lstm"},
    {"condition": ("start",)},
    {"score": "general"},
    {"score": "location"},
    {"score": "location", "state": "current", "feed": False},
]


def stepper_of(source=SOURCE, **options):
    encoder, decoder = model(**options)
    return Stepper(decoder.eval(), {"source": encoder.eval()(source)})


def contents(found, rank=0):
    return [found.content(row, rank) for row in range(len(found.tokens))]


def exhaustive(source, limits, penalty, **options):
    """Every output of at most `maximum` words with its log-probability by teacher forcing, best first."""
    encoder, decoder = model(**options)
    words = [word for word in range(decoder.embedding.vocabulary) if word > END or word == UNKNOWN]
    outputs = [
        list(output)
        for length in range(limits.minimum, limits.maximum + 1)
        for output in itertools.product(words, repeat=length)
    ]
    ranked = []
    with torch.no_grad():
        for output in outputs:
            loss = decoder.eval().loss({"source": encoder.eval()(source)}, tokens(output))
            total = -float(loss.total)
            ranked.append((total / ((6 + len(output)) / 6) ** penalty, total, output))
    return sorted(ranked, reverse=True)


@pytest.mark.parametrize("penalty", [0.0, 1.0])
@pytest.mark.parametrize("options", KINDS, ids=str)
def test_a_wide_beam_is_brute_force(options, penalty):
    limits = Limits(minimum=1, maximum=3)
    source = tokens([4, 5, 5])
    expected = exhaustive(source, limits, penalty, vocabulary=6, **options)
    beam = Beam(size=60, best=5, length_penalty=penalty, limits=limits)
    found = beam(stepper_of(source, vocabulary=6, **options))
    for rank in range(5):
        assert found.content(0, rank) == expected[rank][2]
        assert math.isclose(float(found.scores[0, rank]), expected[rank][1], abs_tol=1e-5)


@pytest.mark.parametrize("penalty", [0.0, 0.7])
@pytest.mark.parametrize("options", KINDS, ids=str)
def test_beam_of_one_is_greedy(options, penalty):
    for seed in range(4):
        stepper = stepper_of(seed=seed, **options)
        greedy, beam = Greedy()(stepper), Beam(size=1, length_penalty=penalty)(stepper)
        assert contents(greedy) == contents(beam)
        torch.testing.assert_close(greedy.scores, beam.scores, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(greedy.token_scores, beam.token_scores, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(greedy.attention, beam.attention)


@pytest.mark.parametrize("search", [Greedy(), Beam(size=3, best=3)], ids=["greedy", "beam"])
@pytest.mark.parametrize("options", KINDS, ids=str)
def test_batched_is_one_by_one(options, search):
    together = search(stepper_of(**options))
    for row in range(3):
        alone = search(stepper_of(tokens(SOURCE.ids[row, : SOURCE.lengths[row]].tolist()), **options))
        for rank in range(together.tokens.shape[1]):
            assert alone.content(0, rank) == together.content(row, rank)
            assert math.isclose(float(alone.scores[0, rank]), float(together.scores[row, rank]), abs_tol=1e-5)
            steps, positions = int(alone.lengths[0, rank]), int(SOURCE.lengths[row])
            for name, weights in alone.attention.items():
                torch.testing.assert_close(
                    weights[0, rank, :steps],
                    together.attention[name][row, rank, :steps, :positions],
                    atol=1e-5,
                    rtol=1e-5,
                )


@pytest.mark.parametrize("search", [Greedy(), Beam(size=4, best=4), Sample(samples=3, seed=1)], ids=repr)
@pytest.mark.parametrize("options", KINDS, ids=str)
def test_scoring_what_was_found_gives_its_score_and_attention(options, search):
    stepper = stepper_of(**options)
    found = search(stepper)
    for rank in range(found.tokens.shape[1]):
        again = score(stepper, tokens(*contents(found, rank)))
        torch.testing.assert_close(again.scores[:, 0], found.scores[:, rank], atol=1e-5, rtol=1e-5)
        steps = again.tokens.shape[2]
        assert torch.equal(again.tokens[:, 0], found.tokens[:, rank, :steps])
        torch.testing.assert_close(
            again.token_scores[:, 0], found.token_scores[:, rank, :steps], atol=1e-5, rtol=1e-5
        )
        for name, weights in again.attention.items():
            torch.testing.assert_close(
                weights[:, 0], found.attention[name][:, rank, :steps], atol=1e-5, rtol=1e-5
            )


def test_beam_ranks_by_penalised_score_and_differs_by_hypothesis():
    found = Beam(size=5, best=5, length_penalty=1.0)(stepper_of())
    ranks = found.scores / ((5 + found.lengths) / 6)
    assert bool((ranks[:, :-1] >= ranks[:, 1:] - 1e-6).all())
    assert all(len({tuple(found.content(row, rank)) for rank in range(5)}) == 5 for row in range(3))


@dataclass(frozen=True)
class Written:
    """The words of each hypothesis so far, (B, K, T)."""

    words: torch.Tensor

    def reorder(self, parents):
        return Written(self.words.gather(1, parents.unsqueeze(-1).expand(-1, -1, self.words.shape[2])))

    def select(self, rows):
        return Written(self.words[rows])


class Dictionary:
    """p = 0.9 for the long word 4 5 6 7 8, 0.02 for each of the words 9 to 13, factored by the chain rule."""

    def start(self, memories, *, truth=None):
        return Written(torch.zeros(1, 1, 0, dtype=torch.int64))

    def step(self, tokens, state, memories):
        words = torch.cat([state.words.expand(-1, tokens.shape[1], -1), tokens.unsqueeze(-1)], -1)
        logits = torch.full((1, tokens.shape[1], 14), -30.0)
        for k, last in enumerate(tokens[0].tolist()):
            if last == BEGIN:
                logits[0, k, 4], logits[0, k, 9:] = math.log(0.9), math.log(0.02)
            else:
                logits[0, k, last + 1 if 4 <= last < 8 else END] = 0.0
        return Step(logits, Written(words), {})


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_short_words_do_not_end_the_search_for_a_better_long_one(penalty):
    stepper = Stepper(
        Dictionary(), {"source": Memory(torch.zeros(1, 4, 1), torch.ones(1, 4) > 0, torch.zeros(1, 1))}
    )
    for size in (1, 3, 5):
        found = Beam(size=size, length_penalty=penalty)(stepper)
        assert found.content(0, 0) == [4, 5, 6, 7, 8]
        assert math.isclose(float(found.scores[0, 0]), math.log(0.9), abs_tol=1e-4)
    assert Beam(size=5, best=5)(stepper).content(0, 1) in [[word] for word in range(9, 14)]


@pytest.mark.parametrize(
    "make", [Greedy, lambda limits: Beam(4, limits=limits), lambda limits: Sample(limits=limits)]
)
def test_lengths_are_kept(make):
    found = make(Limits(minimum=3, maximum=5))(stepper_of())
    assert all(3 <= len(words) <= 5 for words in contents(found))
    assert bool((found.lengths == torch.tensor([[len(words) + 1] for words in contents(found)])).all())
    exact = make(Limits(minimum=4, maximum=4))(stepper_of())
    assert all(len(words) == 4 for words in contents(exact))


@pytest.mark.parametrize(
    "make", [Greedy, lambda limits: Beam(4, best=4, limits=limits), lambda limits: Sample(limits=limits)]
)
def test_prefix_is_forced(make):
    prefix = tokens([7, 9], [], [UNKNOWN])
    stepper = stepper_of()
    found = make(Limits(prefix=prefix, maximum=6))(stepper)
    for rank in range(found.tokens.shape[1]):
        assert found.content(0, rank)[:2] == [7, 9] and found.content(2, rank)[:1] == [UNKNOWN]
    free = make(Limits(maximum=6))(stepper)
    if not isinstance(make(Limits()), Sample):
        assert found.content(1) == free.content(1)
    again = score(stepper, tokens(*contents(found)))
    torch.testing.assert_close(again.scores[:, 0], found.scores[:, 0], atol=1e-5, rtol=1e-5)


def test_ensemble_of_one_model_twice_is_that_model():
    stepper = stepper_of()
    for search in (Greedy(), Beam(size=3, best=3)):
        single, double = search(stepper), search(Ensemble([stepper, stepper_of()]))
        assert torch.equal(single.tokens, double.tokens)
        torch.testing.assert_close(single.scores, double.scores, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(single.attention, double.attention, atol=1e-6, rtol=1e-5)


def test_ensemble_averages_probabilities():
    members = [stepper_of(seed=1), stepper_of(seed=2, state="current")]
    words = torch.full((3, 1), 2)
    expected = sum(torch.softmax(member.step(words, member.start()).logits, -1) for member in members) / 2
    both = Ensemble(members)
    torch.testing.assert_close(both.step(words, both.start()).logits.exp(), expected)


def first_words(search, count=3000):
    """Counts of the first word over many samples for one source."""
    with torch.no_grad():
        stepper = stepper_of(tokens([4, 5]))
        found = search(stepper)
        probabilities = torch.softmax(stepper.step(torch.full((1, 1), 2), stepper.start()).logits[0, 0], -1)
    drawn = Counter(found.tokens[0, :, 0].tolist())
    return {word: times / count for word, times in drawn.items()}, probabilities


def allowed_only(probabilities):
    kept = probabilities.clone()
    kept[[0, 2]] = 0
    return kept / kept.sum()


def test_sampled_frequencies_are_the_model_s():
    frequencies, probabilities = first_words(Sample(samples=3000, seed=0, limits=Limits(maximum=2)))
    for word, probability in enumerate(allowed_only(probabilities).tolist()):
        spread = math.sqrt(probability * (1 - probability) / 3000)
        assert abs(frequencies.get(word, 0) - probability) < 4.5 * spread + 1e-9


def test_temperature_sharpens():
    frequencies, probabilities = first_words(
        Sample(samples=3000, seed=0, temperature=0.5, limits=Limits(maximum=2))
    )
    expected = allowed_only(probabilities) ** 2
    expected = expected / expected.sum()
    for word, probability in enumerate(expected.tolist()):
        assert (
            abs(frequencies.get(word, 0) - probability)
            < 4.5 * math.sqrt(probability * (1 - probability) / 3000) + 1e-9
        )


def test_top_k_and_top_p_leave_out_the_unlikely():
    frequencies, probabilities = first_words(Sample(samples=3000, seed=0, top_k=2, limits=Limits(maximum=2)))
    order = allowed_only(probabilities).sort(descending=True)
    assert set(frequencies) == set(order.indices[:2].tolist())
    enough = float(order.values[0] + order.values[1]) - 1e-4  # reached with the second word
    frequencies, _ = first_words(Sample(samples=3000, seed=0, top_p=enough, limits=Limits(maximum=2)))
    assert set(frequencies) == set(order.indices[:2].tolist())


def test_a_low_temperature_is_greedy():
    stepper = stepper_of()
    sample = Sample(seed=0, temperature=1e-42)(stepper)
    assert contents(sample) == contents(Greedy()(stepper))


def test_without_a_seed_torch_s_decides_and_is_not_set_anew():
    stepper, found = stepper_of(), []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        found.append(Sample(samples=8)(stepper).tokens.tolist())
        assert torch.initial_seed() == seed
    assert found[0] == found[1] != found[2]


def test_the_key_decides_whatever_is_in_the_batch():
    rows = [SOURCE.ids[row, :length].tolist() for row, length in enumerate(SOURCE.lengths.tolist())]
    together = Sample(samples=4, seed=5, keys=(70, 80, 90))(stepper_of())
    for row, key in ((2, 90), (0, 70)):
        alone = Sample(samples=4, seed=5, keys=[key])(stepper_of(tokens(rows[row])))
        assert [alone.content(0, k) for k in range(4)] == [together.content(row, k) for k in range(4)]


def test_the_seed_decides():
    stepper = stepper_of()
    search = Sample(samples=4, seed=5)
    assert torch.equal(search(stepper).tokens, search(stepper).tokens)
    assert not torch.equal(search(stepper).tokens[..., 0], Sample(samples=4, seed=6)(stepper).tokens[..., 0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Beam(size=0), "size ≥ 1"),
        (lambda: Beam(size=2, best=3), "best ≤ size"),
        (lambda: Limits(minimum=3, maximum=2), "invalid: minimum 3, maximum 2"),
        (lambda: Sample(temperature=0), "temperature > 0"),
        (lambda: Sample(top_p=1.5), "top_p ≤ 1"),
        (lambda: Ensemble([]), "at least one"),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(RegardError, match=message):
        make()
