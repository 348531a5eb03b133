"""Labs about training: products of a small network against autograd, Newton's step against a dense solve, and noise."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard.course.lab import run
from regard.course.lab.hessian_free import conjugate_gradients
from regard.course.lab.small_network import SmallNetwork


def outputs(theta: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The network again, in torch."""
    H = (len(theta) - 1) // 3
    return torch.tanh(x[:, None] * theta[:H] + theta[H : 2 * H]) @ theta[2 * H : 3 * H] + theta[-1]


def jacobian(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    found = torch.autograd.functional.jacobian(
        lambda one: outputs(one, torch.from_numpy(x)), torch.from_numpy(theta)
    )
    return np.asarray(found)


def test_products_are_those_of_the_jacobian() -> None:
    generator = np.random.default_rng(4)
    theta, x = generator.standard_normal(3 * 5 + 1), generator.standard_normal(7)
    network, J = SmallNetwork(theta, x), jacobian(theta, x)
    assert network.outputs == pytest.approx(outputs(torch.from_numpy(theta), torch.from_numpy(x)).numpy())
    d, g = generator.standard_normal(16), generator.standard_normal(7)
    assert network.forward(d) == pytest.approx(J @ d)
    assert network.backward(g) == pytest.approx(J.T @ g)


def test_conjugate_gradients_solve_in_as_many_steps_as_unknowns() -> None:
    generator = np.random.default_rng(2)
    root, right = generator.standard_normal((6, 6)), generator.standard_normal(6)
    matrix = root @ root.T + np.eye(6)
    found = conjugate_gradients(lambda v: matrix @ v, right, 6)
    assert found[-1] == pytest.approx(np.linalg.solve(matrix, right)) and len(found) <= 7
    two = conjugate_gradients(lambda v: np.array([2.0, 2.0, 5.0]) * v, np.ones(3), 3)
    assert len(two) == 3  # two different eigenvalues need two products


def test_the_step_is_newton_s_by_a_dense_solve() -> None:
    found = run("hessian-free", units=4, updates=3, damping=0.2, seed=3).numbers
    x = np.linspace(-1, 1, 40)
    J = jacobian(found["parameters"], x)
    residual = outputs(torch.from_numpy(found["parameters"]), torch.from_numpy(x)).numpy() - np.sin(3 * x)
    dense = J.T @ J / 40 + 0.2 * np.eye(13)
    assert found["gauss_newton"] == pytest.approx(dense, abs=1e-12)
    assert found["step"] == pytest.approx(np.linalg.solve(dense, -J.T @ residual / 40), abs=1e-8)
    assert (np.diff(found["loss"]) <= 0).all() and found["loss"][0] == pytest.approx((residual**2).mean() / 2)


def test_few_steps_of_it_beat_as_many_gradients() -> None:
    for seed in (0, 1):
        found = run("hessian-free", seed=seed).numbers
        assert found["loss"][-1] < found["gradient_descent"][-1] / 10
        assert len(found["gradient_descent"]) == found["passes"][-1] + 1


def test_few_rows_are_learned_with_their_noise() -> None:
    found = run("overfitting", updates=800).numbers
    few, decay, many = found["dev"].values()
    train = next(iter(found["train"].values()))
    floor = 0.3**2 / 2
    assert train[-1] < floor / 4  # below the noise: it can only have been learned by heart
    assert few[-1] > 2 * few.min() and few[-1] > 3 * floor
    assert few.argmin() < len(few) / 4 and decay[-1] < few[-1]
    assert floor * 0.8 < many[-1] < floor * 1.3
    quiet = run("overfitting", updates=400, noise=0.0, rows=200).numbers
    assert next(iter(quiet["dev"].values()))[-1] < 0.01
