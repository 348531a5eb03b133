"""The score function of the fovea against the exact gradient by enumeration, and the target that it must find."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from regard.course.lab import run
from regard.course.lab.gathering import KINDS, gathered, glimpsed, symbol_scenes
from regard.course.lab.glimpses import MOVES, Scenes, features_at, look, scenes, score_function

T = 2


def expected_reward(policy: np.ndarray, given: Scenes) -> float:
    """E Σ −distance over all sequences of moves, each with its probability."""
    N, total = given.images.shape[1] - 2, 0.0
    for moves in itertools.product(range(len(MOVES)), repeat=T):
        place, p, reward = given.starts, 1.0, 0.0
        for move in moves:
            scores = (features_at(given.images, place) @ policy.T)[0]
            p *= float(np.exp(scores[move]) / np.exp(scores).sum())
            place = np.clip(place + MOVES[move], 0, N - 1)
            reward -= float(np.abs(place - given.targets).sum())
        total += p * reward
    return total


def test_the_score_function_has_the_exact_gradient_as_its_mean() -> None:
    options = SimpleNamespace(size=4, batch=1, noise=0.05)
    one = scenes(options, np.random.default_rng(5))
    policy = 0.3 * np.random.default_rng(6).standard_normal((len(MOVES), 9))
    exact = np.zeros_like(policy)
    for place in np.ndindex(*policy.shape):
        step = np.zeros_like(policy)
        step[place] = 1e-5
        exact[place] = (expected_reward(policy + step, one) - expected_reward(policy - step, one)) / 2e-5
    copies = 20_000
    many = Scenes(*(np.repeat(part, copies, 0) for part in (one.images, one.targets, one.starts)))
    seen = look(policy, many, T, np.random.default_rng(7))
    assert score_function(seen, baseline=False) == pytest.approx(exact, abs=0.08 * np.abs(exact).max())


def test_the_fovea_sees_nine_cells_and_stays_on_the_image() -> None:
    given = scenes(SimpleNamespace(size=5, batch=3, noise=0.0), np.random.default_rng(1))
    seen = features_at(given.images, given.targets)
    assert seen.shape == (3, 9) and (np.delete(seen, 4, 1) < 0).all()  # nothing is brighter than the target
    moved = look(np.zeros((5, 9)), given, 30, np.random.default_rng(2)).places
    assert moved.min() >= 0 and moved.max() <= 4
    assert (np.abs(np.diff(moved, axis=0)).sum(-1) <= 1).all()


def test_it_learns_to_end_at_the_target() -> None:
    found = run("glimpses", size=7, glimpses=12, readings=1, seed=2)
    after, before = found.numbers["at_target"]["after"], found.numbers["at_target"]["before"]
    assert after > 0.8 and before < 0.1
    last = found.numbers["places"][-1]
    assert (last == found.numbers["targets"]).all(-1).mean() == after


def test_the_fovea_sees_one_symbol_at_a_time() -> None:
    given = symbol_scenes(50, np.random.default_rng(3))
    seen = glimpsed(given.images)  # (B, 4, 9)
    is_cross = seen[..., 0] > 0.5  # a plus has nothing in its corner
    assert (is_cross.sum(1) == given.crosses).all()
    patterns = KINDS.reshape(2, 9)[is_cross.astype(int)]
    assert np.abs(seen - patterns).max() < 0.4
    assert KINDS[0].sum() == KINDS[1].sum()  # the blurred image does not tell which it is


def test_counting_takes_all_glimpses_and_a_state_that_is_kept() -> None:
    found = gathered(150, 0)
    best = (3 / 8, 1 / 2, 1 / 2, 1)  # who has seen k of four
    assert found.kept == pytest.approx(best, abs=0.05)
    assert found.reset < 0.43 and found.blurred < 0.43
