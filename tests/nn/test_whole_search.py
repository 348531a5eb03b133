"""Searches in one kernel on the CPU: as step by step, in the same bits for any batch, with the weights of now."""

from __future__ import annotations

import time

import pytest
import torch

from regard.errors import RegardError
from regard.fast import whole_search
from regard.fast.cpu import together
from regard.fast.paths.beam_cpu import BeamOnCPU
from regard.fast.paths.greedy_cpu import GreedyOnCPU
from regard.nn.path import only, without_fast_paths
from regard.nn.search import Beam, Ensemble, Greedy, Limits, Stepper
from regard.structures.kernels.cpu import parallel

from .conftest import model, tokens

ROWS = [[4, 5, 6, 7, 8], [9, 4], [10, 6, 4, 4], [5], [7, 7, 7, 9, 10, 4, 4], [8, 5, 6], [6, 6], [10]]
PREFIX = tokens([4], [], [5, 6, 7], [], [8, 9, 4, 4, 5, 6], [9], [10, 4], [])
LIMITS = {
    "no limits": Limits(),
    "lengths": Limits(minimum=3, maximum=5),
    "prefix": Limits(prefix=PREFIX, maximum=9),
    "forbidden": Limits(forbidden=(0, 2, 5, 7)),
}
KINDS = {
    "gru": {},
    "current": {"state": "current"},
    "every step": {"condition": ("start", "every-step", "attention")},
    "lstm": {"cell": "lstm", "layers": 2},
    "location": {"score": "location"},
    "dot": {"score": "general", "state": "current", "feed": False},
}
SEARCHES = {
    "greedy": (Greedy, GreedyOnCPU),
    "beam": (lambda limits: Beam(4, best=3, limits=limits), BeamOnCPU),
}


def stepper_of(rows=ROWS, **options):
    encoder, decoder = model(seed=5, **options)
    return Stepper(decoder.eval(), {"source": encoder.eval()(tokens(*rows))})


def equal(found, truth):
    assert torch.equal(found.tokens, truth.tokens)
    assert torch.equal(found.lengths, truth.lengths)
    for field in ("scores", "token_scores", "attention"):
        torch.testing.assert_close(getattr(found, field), getattr(truth, field), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("name", SEARCHES)
def test_as_step_by_step(name, limits, kind):
    make, path = SEARCHES[name]
    found = stepper_of(**KINDS[kind])
    assert path().takes(*((make(LIMITS[limits]),) if name == "beam" else ()), *arguments(name, found, limits))
    with without_fast_paths():
        truth = make(LIMITS[limits])(found)
    equal(make(LIMITS[limits])(found), truth)


def arguments(name, stepper, limits):
    from regard.nn.search.greedy import MostProbable

    bounds = LIMITS[limits].of(stepper)
    return (stepper, bounds) if name == "beam" else (stepper, MostProbable(), bounds)


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("kind", ["current", "lstm"])
@pytest.mark.parametrize("maximum", [None, 3])
def test_any_batch_gives_the_same_bits(name, kind, maximum):
    """Also where a batch has more positions than words may be written, and another one fewer."""
    search = SEARCHES[name][0](Limits(maximum=maximum))
    together = search(stepper_of(**KINDS[kind]))
    for rows in ([6, 2, 0, 7, 4], [6, 2, 0, 7], [3, 6, 1]):
        others = search(stepper_of([ROWS[row] for row in rows], **KINDS[kind]))
        for place, row in enumerate(rows):
            for rank in range(together.tokens.shape[1]):
                length = int(together.lengths[row, rank])
                assert others.content(place, rank) == together.content(row, rank)
                assert torch.equal(
                    others.token_scores[place, rank, :length], together.token_scores[row, rank, :length]
                )


def _as_they_are(weight):
    pass


def _in_pairs(weight):
    weight[1::2] = weight[::2]


def _hardly_different(weight):
    weight[:] = weight[:1] + 1e-6 * weight


def _all_equal(weight):
    weight[:] = 0.25


@pytest.mark.parametrize("changed", [_as_they_are, _in_pairs, _hardly_different, _all_equal])
@pytest.mark.parametrize("limits", ["no limits", "lengths", "forbidden"])
def test_few_rows_of_many_words_give_the_same_bits(limits, changed):
    """A few rows choose their words by bytes and read few weights of the output layer; many rows read all."""
    search = Greedy(LIMITS[limits])
    together = stepper_of(vocabulary=700, state="current")
    with torch.no_grad():
        changed(together.decoder.output.weight)
    found = search(together)
    assert found.lengths.max() > 2
    for rows in ([6, 2, 0, 7], [1, 3, 5, 4]):
        some = search(together.select(torch.tensor(rows)))
        for place, row in enumerate(rows):
            length = int(found.lengths[row, 0])
            assert some.content(place) == found.content(row)
            assert torch.equal(some.token_scores[place, 0, :length], found.token_scores[row, 0, :length])


@pytest.mark.parametrize("name", SEARCHES)
def test_changed_weights_are_used(name):
    search, found = SEARCHES[name][0](Limits(minimum=3, maximum=6)), stepper_of()
    search(found)
    decoder = found.decoder
    decoder.output.weight.data[4:8] *= -3  # no version counter sees this
    decoder.stack.cell(0).weight_hh.detach().numpy()[2, 3] += 0.5
    with without_fast_paths():
        truth = search(found)
    equal(search(found), truth)


@pytest.fixture
def two_threads(monkeypatch):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    monkeypatch.setattr(whole_search, "READ", 1)
    yield
    torch.set_num_threads(before)


def _all_alone(work, threads):
    """A team of which one thread came."""
    work()


def _idle(member, at_once, layers, screen, shared):
    """A helper that does nothing."""
    while shared.asked[member * together.LINE] != together.END:
        time.sleep(0.001)


def _late(member, at_once, layers, screen, shared):
    """A helper that comes in the middle of a search, or after it."""
    time.sleep(0.0005)
    HELP(member, at_once, layers, screen, shared)


HELP = together.help_part


@pytest.mark.parametrize("company", ["together", "alone", "idle", "late"])
@pytest.mark.parametrize("kind", ["current", "lstm", "location"])
@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_with_helpers_gives_the_same_bits(name, kind, company, two_threads, monkeypatch):
    """Also where no helper comes, or none does anything: the search does what it does not get in time."""
    teams = []

    def watched(*arguments):
        teams.append(shared_by(*arguments))
        return teams[-1]

    shared_by = whole_search.shared_by
    monkeypatch.setattr(whole_search, "shared_by", watched)
    if company == "alone":
        monkeypatch.setattr(parallel, "team", lambda: _all_alone)
    if company in ("idle", "late"):
        monkeypatch.setattr(together, "help_part", {"idle": _idle, "late": _late}[company])
    rows = {"greedy": ROWS[:3], "beam": ROWS[:1]}[name]
    search = SEARCHES[name][0](Limits(minimum=5, maximum=12))
    searched = stepper_of(rows, vocabulary=700, size=70, **KINDS[kind])
    for _ in range(500):
        found = search(searched)
        assert len(teams[-1].made) == 2
        if company != "together" or teams[-1].done.any() or parallel.team() is None:
            break
    if company == "alone":
        assert not teams[-1].done.any()
    if company == "together" and parallel.team() is not None:
        assert teams[-1].done.any()
    monkeypatch.setattr(whole_search, "MEMBERS", 1)
    alone = search(searched)
    assert len(teams[-1].made) == 1
    assert torch.equal(found.tokens, alone.tokens) and torch.equal(found.lengths, alone.lengths)
    for field in ("scores", "token_scores"):
        assert torch.equal(getattr(found, field), getattr(alone, field))
    assert torch.equal(found.attention["source"], alone.attention["source"])


@pytest.mark.parametrize("name", SEARCHES)
def test_changed_weights_are_used_by_a_search_with_helpers(name, two_threads):
    """Weights are compared behind the thread that prepares the search; where one has changed, it is repeated."""
    search, searched = SEARCHES[name][0](Limits(minimum=3, maximum=6)), stepper_of(ROWS[:1], size=70)
    decoder = searched.decoder
    for change in range(4):
        search(searched)
        decoder.output.weight.data[4:8] *= -1.5  # no version counter sees this
        decoder.stack.cell(0).weight_hh.detach().numpy()[2 + change, 3] += 0.5
        with without_fast_paths():
            truth = search(searched)
        equal(search(searched), truth)


@pytest.mark.parametrize("name", SEARCHES)
def test_damaged_weights_raise_the_same_error(name):
    search, found = SEARCHES[name][0](Limits()), stepper_of()
    with torch.no_grad():
        found.decoder.output.bias[6] = torch.nan
    with pytest.raises(RegardError, match="not finite"):
        search(found)


def test_ensembles_are_searched_step_by_step():
    for make, path in SEARCHES.values():
        both = Ensemble([stepper_of(), stepper_of(state="current")])
        search = make(Limits())
        with only(path):
            found = search(both)
        equal(search(both), found)
