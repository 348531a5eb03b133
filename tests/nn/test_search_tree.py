"""The tree of a search against the enumeration of every output of a tiny model, and a beam written again in Python."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from regard.data.batch import END, UNKNOWN
from regard.nn.search import Beam, Greedy, Limits, Sample, SearchTree, Stepper

from .conftest import model, tokens

SOURCE = tokens([4, 5, 5])
VOCABULARY, LONGEST = 6, 3
WORDS = [UNKNOWN, *range(END + 1, VOCABULARY)]
EVERY = [words for length in range(LONGEST + 1) for words in itertools.product(WORDS, repeat=length)]


@pytest.fixture(scope="module")
def made():
    encoder, decoder = model(vocabulary=VOCABULARY, seed=1)
    return decoder.eval(), {"source": encoder.eval()(SOURCE)}


@pytest.fixture(scope="module")
def chances(made):
    """{prefix: log p of the next token, by token} for every prefix, by teacher forcing."""
    decoder, memories = made
    with torch.no_grad():
        return {
            words: decoder.distribution(memories, tokens(list(words)))[len(words)].log() for words in EVERY
        }


def log_p(chances, path):
    return sum(float(chances[path[:step]][token]) for step, token in enumerate(path))


def paths(tree: SearchTree) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for token, parent in zip(tree.tokens[1:], tree.parents[1:], strict=True):
        found.append((*found[parent], token))
    return found


def test_a_beam_that_keeps_everything_is_the_tree_of_all_outputs(made, chances):
    decoder, memories = made
    search = Beam(size=80, best=5, length_penalty=0.0, limits=Limits(maximum=LONGEST))
    found, tree = search.traced(Stepper(decoder, memories))
    every = paths(tree)
    expected = {*(words for words in EVERY), *((*words, END) for words in EVERY)}
    assert len(every) == len(set(every)) and set(every) == expected
    for path, score, reason in zip(every, tree.scores, tree.ended, strict=True):
        assert score == pytest.approx(log_p(chances, path), abs=1e-5)
        ended = "" if not path or path[-1] != END else "limit" if len(path) > LONGEST else "end"
        assert reason == ended
    ranked = sorted((log_p(chances, (*words, END)), (*words, END)) for words in EVERY)[::-1][:5]
    assert [every[tree.ranks.index(rank)] for rank in range(1, 6)] == [path for _, path in ranked]
    looks = tree.attention()["source"]
    for rank in range(5):
        node = tree.ranks.index(rank + 1)
        for step in range(int(found.lengths[0, rank]) - 1, -1, -1):
            assert torch.allclose(looks[node], found.attention["source"][0, rank, step], atol=1e-6)
            node = tree.parents[node]
        assert node == 0


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_beam_keeps_and_drops_what_a_beam_written_again_does(made, chances, size):
    decoder, memories = made
    search = Beam(size=size, best=1, length_penalty=0.0, limits=Limits(maximum=LONGEST))
    found, tree = search.traced(Stepper(decoder, memories))
    fast = search(Stepper(decoder, memories))
    assert found.content(0) == fast.content(0)
    assert torch.allclose(found.scores, fast.scores, atol=1e-6)
    live: list[tuple[int, ...]] = [()]
    kept, ended, dropped = set(), [], set()
    for step in range(LONGEST + 1):
        allowed = [END] if step == LONGEST else [*WORDS, END]
        candidates = [(log_p(chances, (*path, token)), (*path, token)) for path in live for token in allowed]
        candidates.sort(reverse=True)
        ended += [one for one in candidates[:size] if one[1][-1] == END]
        following = [path for _, path in candidates if path[-1] != END][:size]
        dropped |= {path for path in live if not any(one[:-1] == path for one in following) and step} - {
            path[:-1] for _, path in ended
        }
        kept |= set(following)
        live = following
        full = len(ended) >= size
        if full and (not live or log_p(chances, live[0]) <= max(ended)[0]):
            break
    every = paths(tree)
    assert set(every) == {(), *kept, *(path for _, path in ended)}
    reasons = dict(zip(every, tree.ended, strict=True))
    assert {path for path, reason in reasons.items() if reason == "pruned"} == dropped
    assert {path for path, reason in reasons.items() if reason == "alive"} == set(live)
    assert every[tree.ranks.index(1)] == max(ended)[1]


def test_greedy_search_is_one_path_and_samples_share_their_beginnings(made, chances):
    decoder, memories = made
    found, tree = Greedy(Limits(maximum=LONGEST)).traced(Stepper(decoder, memories))
    assert paths(tree)[-1] == (*found.content(0), END) and len(tree.tokens) == len(found.content(0)) + 2
    search = Sample(samples=12, seed=0, limits=Limits(maximum=LONGEST))
    found, tree = search.traced(Stepper(decoder, memories))
    every = paths(tree)
    drawn = {(*found.content(0, rank), END) for rank in range(12)}
    assert {path for path, rank in zip(every, tree.ranks, strict=True) if rank} == drawn
    assert set(every) == {path[:length] for path in drawn for length in range(len(path) + 1)}
    for path, score, reason in zip(every, tree.scores, tree.ended, strict=True):
        assert math.isclose(score, log_p(chances, path), abs_tol=1e-5)
        assert (reason == "limit") == (len(path) == LONGEST + 1)
