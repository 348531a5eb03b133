"""Every search terminates; scores that make it impossible to continue are an error with a remedy."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
import torch

from regard.data.batch import BEGIN, END
from regard.errors import RegardError
from regard.nn.memory import Memory
from regard.nn.search import Beam, Ensemble, Greedy, Limits, Sample, Stepper, score
from regard.nn.stepping import Step

from .conftest import SOURCE, model, tokens

SEARCHES = {
    "greedy": lambda **limits: Greedy(limits=Limits(**limits)),
    "beam": lambda **limits: Beam(size=3, limits=Limits(**limits)),
    "sampling": lambda **limits: Sample(samples=2, seed=0, limits=Limits(**limits)),
}
every_search = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
NOT_FINITE = (
    r"^search, row 1 of the batch, token 1: the model's scores are not finite: .*Load another checkpoint"
)


def damaged(value, token, **options):
    """A model whose output bias holds a value for one token; its sources have 5, 2 and 4 positions."""
    encoder, decoder = model(**options)
    with torch.no_grad():
        decoder.output.bias[token] = value
    return Stepper(decoder.eval(), {"source": encoder.eval()(SOURCE)})


@every_search
@pytest.mark.parametrize("options", [{}, {"cell": "lstm"}], ids=["fused", "plain"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("token", [END, 7, slice(None)])
def test_scores_that_are_not_finite_are_an_error(search, options, dtype, value, token):
    with pytest.raises(RegardError, match=NOT_FINITE):
        search()(damaged(value, token, dtype=dtype, **options))


@every_search
@pytest.mark.parametrize("options", [{}, {"cell": "lstm"}], ids=["fused", "plain"])
def test_no_choice_at_all_is_an_error(search, options):
    with pytest.raises(RegardError, match=r"row 1 of the batch.*no choice is possible"):
        search()(damaged(-math.inf, slice(None), **options))


@every_search
@pytest.mark.parametrize("options", [{}, {"cell": "lstm"}], ids=["fused", "plain"])
def test_without_an_end_a_search_stops_at_the_maximum(search, options):
    for maximum in (4, None):
        with pytest.raises(RegardError, match=r"no choice is possible.*Raise max_length"):
            search(maximum=maximum)(damaged(-math.inf, END, **options))


@every_search
def test_one_damaged_member_is_an_error(search):
    with pytest.raises(RegardError, match=NOT_FINITE):
        search()(Ensemble([damaged(0.0, END), damaged(math.nan, 7)]))


def test_scoring_with_damaged_weights_is_an_error():
    with pytest.raises(RegardError, match=NOT_FINITE):
        score(damaged(math.nan, 7), tokens([4], [5], [6]))


def test_an_excluded_token_may_be_scored():
    found = score(damaged(-math.inf, 7), tokens([4], [7, 5], [6]))
    assert found.scores[:, 0].isinf().tolist() == [False, True, False]


@dataclass(frozen=True)
class Nothing:
    def reorder(self, parents):
        return self

    def select(self, rows):
        return self


class Table:
    """Logits by the last token; NaN after END, which must not be used."""

    def __init__(self, table):
        self.table = {END: dict.fromkeys(range(8), math.nan), **table}

    def start(self, memories, *, truth=None):
        return Nothing()

    def step(self, tokens, state, memories):
        logits = torch.full((*tokens.shape, 8), -math.inf)
        for b, row in enumerate(tokens.tolist()):
            for k, last in enumerate(row):
                for token, logit in self.table.get(last, {}).items():
                    logits[b, k, token] = logit
        return Step(logits, state, {})


def table(rows, **entries):
    lengths = torch.ones(rows, 1)
    return Stepper(Table(entries["table"]), {"source": Memory(lengths.unsqueeze(-1), lengths > 0, lengths)})


def test_a_beam_goes_round_a_dead_end_and_greedy_says_that_it_is_one():
    """4 is more likely, but nothing follows it; 5 can be followed by END."""
    found = table(2, table={BEGIN: {4: math.log(0.6), 5: math.log(0.4)}, 5: {END: 0.0}})
    for size in (2, 3):
        best = Beam(size=size)(found)
        assert [best.content(row) for row in range(2)] == [[5], [5]]
        assert best.scores[0, 0] == pytest.approx(math.log(0.4))
    with pytest.raises(RegardError, match=r"row 1 of the batch, token 2: no choice is possible"):
        Greedy()(found)
    with pytest.raises(RegardError, match=r"row 1 of the batch: no choice is possible"):
        Beam(size=1)(found)


def test_what_a_finished_hypothesis_would_score_is_not_looked_at():
    found = table(1, table={BEGIN: {END: 0.0, 4: 0.1}, 4: {5: 0.0}, 5: {END: 0.0}})
    samples = Sample(samples=20, seed=0)(found)
    assert {tuple(samples.content(0, rank)) for rank in range(20)} == {(), (4, 5)}
    assert samples.scores.isfinite().all() and samples.token_scores.isfinite().all()
    both = Beam(size=2, best=2)(found)
    assert [both.content(0, rank) for rank in range(2)] == [[4, 5], []]


@every_search
def test_a_search_takes_no_more_steps_than_the_maximum(search):
    """END is allowed but never the best choice."""
    found = table(2, table={BEGIN: {4: 9.0, 5: 0.0}, **{t: {4: 9.0, 5: 9.0, END: -40.0} for t in (4, 5)}})
    times = []
    step = found.decoder.step
    found.decoder.step = lambda *given: times.append(1) or step(*given)
    assert search(maximum=6)(found).lengths.tolist()[0][0] == 7
    assert len(times) == 7
