"""Ensembles, prefixes, limits and samples against the enumeration of every output of a tiny model."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest
import torch

from regard.data.batch import BEGIN, END, UNKNOWN
from regard.nn.search import Beam, Ensemble, Limits, Sample, Stepper

from .conftest import model, tokens

SOURCE = tokens([4, 5, 5])
VOCABULARY, LONGEST = 6, 3
WORDS = [UNKNOWN, *range(END + 1, VOCABULARY)]
EVERY = [list(words) for length in range(LONGEST + 1) for words in itertools.product(WORDS, repeat=length)]
MODELS = [{"seed": 1}, {"seed": 2, "state": "current"}, {"seed": 3, "cell": "lstm"}]


def stepper_of(**options):
    encoder, decoder = model(vocabulary=VOCABULARY, **options)
    return Stepper(decoder.eval(), {"source": encoder.eval()(SOURCE)})


@torch.no_grad()
def mean_probabilities(words, models):
    """p(y_t | y_<t) of each word and of END, by teacher forcing: the mean over the models, (T + 1, V)."""
    total = 0.0
    for options in models:
        encoder, decoder = model(vocabulary=VOCABULARY, dtype=torch.float64, **options)
        total = total + decoder.eval().distribution({"source": encoder.eval()(SOURCE)}, tokens(words))
    return total / len(models)


def log_probability(words, models, limits):
    """Σ_t log p(y_t), END included unless the maximum ends the output."""
    rows = mean_probabilities(words, models)
    return sum(math.log(rows[t, word]) for t, word in enumerate([*words, END]))


@pytest.mark.parametrize("prefix", [[], [4], [UNKNOWN, 5]], ids=str)
@pytest.mark.parametrize("minimum", [0, 2])
@pytest.mark.parametrize("count", [1, 3])
def test_the_n_best_of_an_ensemble_are_those_of_all_outputs(count, minimum, prefix):
    models = MODELS[:count]
    outputs = [words for words in EVERY if len(words) >= minimum and words[: len(prefix)] == prefix]
    ranked = sorted(((log_probability(words, models, None), words) for words in outputs), reverse=True)
    steppers = [stepper_of(**options) for options in models]
    limits = Limits(minimum=minimum, maximum=LONGEST, prefix=tokens(prefix) if prefix else None)
    search = Beam(size=80, best=4, length_penalty=0.0, limits=limits)
    found = search(steppers[0] if count == 1 else Ensemble(steppers))
    for rank, (expected, words) in enumerate(ranked[:4]):
        assert found.content(0, rank) == words
        assert float(found.scores[0, rank]) == pytest.approx(expected, rel=1e-5)


def test_samples_of_an_ensemble_have_the_probabilities_of_whole_outputs():
    """2,000 samples: each frequency within five deviations. Words that are never written share their
    probability among the others, at each step."""
    models, draws = MODELS[:2], 2000
    limits = Limits(maximum=LONGEST)
    found = Sample(samples=draws, seed=3, limits=limits)(Ensemble([stepper_of(**one) for one in models]))
    frequencies = Counter(tuple(found.content(0, rank)) for rank in range(draws))
    possible = [*WORDS, END]
    chances = {}
    for words in EVERY:
        rows, chance = mean_probabilities(words, models), 1.0
        for t, word in enumerate([*words, END]):
            if t < LONGEST:  # there only END is possible
                chance *= float(rows[t, word] / rows[t, possible].sum())
        chances[tuple(words)] = chance
    assert sum(chances.values()) == pytest.approx(1.0)
    for words, chance in chances.items():
        deviation = math.sqrt(chance * (1 - chance) / draws)
        assert abs(frequencies[words] / draws - chance) < 5 * deviation + 1 / draws, words


def test_nothing_but_words_is_written():
    found = Sample(samples=200, seed=1, limits=Limits(maximum=LONGEST))(stepper_of(**MODELS[0]))
    assert all(BEGIN not in found.content(0, rank) for rank in range(200))
