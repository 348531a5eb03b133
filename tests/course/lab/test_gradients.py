"""Labs on gradients, against closed forms, autograd, finite differences and numpy.linalg."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from regard.course.lab import run
from regard.course.lab.by_hand import BY_HAND, GATES, random_parameters, scalar
from regard.course.lab.carousel import passed
from regard.course.lab.depth import leaf_gradients
from regard.course.lab.gradient_flow import random_cell
from regard.course.lab.residual import block, block_jacobian, plain_product, start, weights
from regard.course.lab.transition import gradients, shortest


def test_jacobian_is_a_power() -> None:
    found = run("jacobian").numbers
    assert found["linear"]["1.1"][-1] == pytest.approx(1.1**49) == pytest.approx(106.7, abs=0.05)
    assert found["linear"]["0.9"][-1] == pytest.approx(0.9**49) == pytest.approx(0.00573, abs=5e-6)
    assert (
        found["toy"]["1.01"] == pytest.approx(math.exp(999 * math.log(1.01))) == pytest.approx(20_752, abs=1)
    )
    rows = {row[0]: row for row in run("jacobian").table[1]}
    assert rows["w = 1.1, T = 50"][2] == pytest.approx(117.4, abs=0.05)  # w^50, as printed in the lecture
    assert rows["w = 0.9, T = 50"][2] == pytest.approx(0.00515, abs=5e-6)
    assert rows["w = 0.01, T = 1,000"][1] == "1e−1998"


@pytest.mark.parametrize("weight", [1.7, -0.6])
def test_jacobian_through_tanh_is_autograd(weight: float) -> None:
    found = run("jacobian", weights=[weight], steps=9, start=0.3).numbers["tanh"][f"{weight:g}"]
    first = state = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    for t in range(1, 9):
        state = torch.tanh(weight * state)
        (wanted,) = torch.autograd.grad(state, first, retain_graph=True)
        assert found[t] == pytest.approx(float(wanted), rel=1e-12)


def test_the_worked_line_of_the_jacobian_is_the_power_times_the_slopes() -> None:
    (line,) = run("jacobian", weights=[1.1], steps=3, start=0.5, toy=[]).worked
    first = math.tanh(1.1 * 0.5)
    slopes = (1 - first**2) * (1 - math.tanh(1.1 * first) ** 2)
    *_, power, product = (float(part) for part in line.split("= ")[-2].split("·"))
    assert [power, product] == pytest.approx([1.21, slopes], rel=1e-3)
    assert float(line.split("= ")[-1]) == pytest.approx(1.21 * slopes, rel=1e-3)


@pytest.mark.parametrize(("weight", "steps"), [(1.01, 1000), (0.99, 1000), (-0.9, 30), (0.0, 2), (2.0, 9)])
def test_the_slope_of_the_toy_loss_is_that_of_differences(weight: float, steps: int) -> None:
    def loss(w: float) -> float:
        return 0.5 * (math.prod([w] * (steps - 1)) - 1) ** 2

    wanted = abs(loss(weight + 1e-7) - loss(weight - 1e-7)) / 2e-7
    found = run("jacobian", toy=[weight], toy_steps=steps)
    assert 10 ** found.numbers["toy_log_slope"][f"{weight:g}"] == pytest.approx(wanted, rel=1e-6)
    slope, rate = (
        float(part.split(" = ")[-1].translate({ord("−"): "-", ord(","): None}))
        for part in found.worked[-1].split(", ")
    )
    assert [slope, slope * rate] == pytest.approx([wanted, 0.01], rel=1e-3)


def test_a_slope_of_the_toy_loss_beyond_the_floats_is_told_by_its_power() -> None:
    small, large, none = run("jacobian", toy=[0.01, 10.0, 1.0]).worked[-3:]
    assert small.endswith("= 1e−1993, η = 1e1991")  # 999 · 0.01^998
    assert large.endswith("= 1e2000, η = 1e−2002")  # 10^999 · 999 · 10^998
    assert none.endswith("= 0, no η moves it")


def test_a_memory_that_is_output_gets_the_gradient_of_its_output() -> None:
    slope = 1 - math.tanh(0.7) ** 2
    assert passed(1.0, 0.0, 0.0) == passed(1.0, 1.0, 0.0) == 1.0
    assert [passed(1.0, 0.0, 1.0), passed(0.5, 0.0, 1.0)] == pytest.approx([1 + slope, 0.5 + slope])
    assert passed(1.0, 1.0, 1.0) != pytest.approx(1 + slope)


def test_the_worked_lines_of_bptt_are_its_equations() -> None:
    lines = run("bptt", inputs=[0.4], targets=[0.25], u=1.5, v=2.0).worked
    h = math.tanh(1.5 * 0.4)
    y = math.tanh(2 * h)
    wanted = {"ȳ_1": y - 0.25, "r̄_1": (y - 0.25) * (1 - y**2), "h̄_1": 2 * (y - 0.25) * (1 - y**2)}
    wanted["z̄_1"] = wanted["h̄_1"] * (1 - h**2)
    told = {
        line.split(" = ")[0]: float(line.split(" = ")[-1].replace("−", "-"))
        for line in lines
        if " = " in line
    }
    assert {name: told[name] for name in wanted} == pytest.approx(wanted, abs=6e-4)


def test_the_gradient_of_a_shared_weight_is_a_sum_over_its_copies() -> None:
    found = run("bptt", inputs=[0.4, -1.0, 0.5], targets=[0.25, 0.5, 0.0])
    for line in found.worked[-4:-1]:
        _, terms, total = line.replace("−", "-").split(" = ", 1)[1].split(" = ")
        values = [float(one) for one in terms.split(" + ")]
        name = line[0]  # ū, v̄ or w̄
        assert len(values) == (2 if name == "w" else 3)
        assert sum(values) == pytest.approx(float(total), abs=2e-3)
        assert float(total) == pytest.approx(
            float(found.numbers["autograd"]["u" if name == "ū" else name]), abs=1e-6
        )


def test_the_carousel_is_exact() -> None:
    found = run("carousel", steps=250, forget=[1.0, 0.97, 0.0]).numbers["gradient"]
    assert (found["1"] == 1.0).all() and len(found["1"]) == 251
    assert found["0.97"] == pytest.approx(0.97 ** np.arange(251), rel=1e-12)
    assert found["0"][0] == 1 and (found["0"][1:] == 0).all()


@pytest.mark.parametrize(("memory", "new"), [(0.6, 0.3), (-2.0, 0.9)])
def test_gates_do_what_the_table_says(memory: float, new: float) -> None:
    found = run("gates", memory=memory, new=new).numbers
    wanted = {"remember": memory, "add": memory + new, "erase": 0.0, "overwrite": new}
    for name, value in wanted.items():
        assert found[name]["after"] == pytest.approx(value)
        assert found[name]["cell"] == pytest.approx(value, abs=1e-14)  # regard's own LSTM cell
        assert found[name]["shown"] == pytest.approx(np.tanh(value), abs=1e-14) and found[name]["hidden"] == 0


@pytest.mark.parametrize("symmetric", [True, False])
def test_spectrum_is_numpys(symmetric: bool) -> None:
    found = run("spectrum", size=7, steps=400, symmetric=symmetric, radii=[0.9, 1.05]).numbers
    matrix = found["matrix"]
    values = np.linalg.eigvals(matrix)
    assert np.abs(values).max() == pytest.approx(1.0)
    shown = np.sort_complex(found["eigenvalues"]["real"] + 1j * found["eigenvalues"]["imaginary"])
    assert shown == pytest.approx(np.sort_complex(values))
    start = np.random.default_rng(1).standard_normal(7)
    start /= np.linalg.norm(start)
    for radius in (0.9, 1.05):
        power = np.linalg.matrix_power(radius * matrix, 400)
        assert found["norms"][f"{radius:g}"][-1] == pytest.approx(np.linalg.norm(power.T @ start), rel=1e-8)
    if symmetric:
        leading = np.linalg.eigvalsh(matrix)[np.abs(np.linalg.eigvalsh(matrix)).argmax()]
        assert found["power_method"][-1] == pytest.approx(leading, rel=1e-6)


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "identity"])
def test_the_scalar_network_by_hand_is_finite_differences(activation: str) -> None:
    inputs, targets = np.array([1.0, -0.5, 2.0]), np.array([0.1, 0.2, -0.3])
    parameters = {"u": np.array(0.7), "v": np.array(-1.1), "w": np.array(0.6)}
    found = scalar(parameters, inputs, targets, activation)
    for name in parameters:
        sides = [
            scalar({**parameters, name: parameters[name] + step}, inputs, targets, activation).loss
            for step in (1e-5, -1e-5)
        ]
        assert float(found.gradients[name]) == pytest.approx((sides[0] - sides[1]) / 2e-5, rel=1e-6, abs=1e-9)


def test_bptt_by_hand_is_autograd() -> None:
    for network in ("scalar", "rnn", "lstm", "gru"):
        found = run("bptt", network=network, size=7, inputs=[1.0, -2.0, 0.5, 1.5, -1.0], seed=3).numbers
        assert max(found["largest_difference"].values()) < 1e-13
        for name, gradient in found["gradients"].items():
            assert gradient == pytest.approx(found["autograd"][name], abs=1e-13)


@pytest.mark.parametrize("name", ["rnn", "lstm"])
def test_bptt_by_hand_is_torchs_own_recurrence(name: str) -> None:
    """An independent forward pass: torch.nn.RNN and torch.nn.LSTM with the same weights."""
    size, inputs, classes = 4, 3, 5
    parameters = random_parameters(name, inputs, size, classes, seed=2)
    generator = np.random.default_rng(5)
    x, y = generator.standard_normal((6, inputs)), generator.integers(0, classes, 6)
    found = BY_HAND[name](parameters, x, y)
    network: Any = {"rnn": nn.RNN, "lstm": nn.LSTM}[name](inputs, size).double()
    order = {"rnn": ("h",), "lstm": ("i", "f", "g", "o")}[name]
    assert set(order) == set(GATES[name])
    own = {"weight_hh_l0": "W", "weight_ih_l0": "U", "bias_ih_l0": "b"}
    with torch.no_grad():
        for key, letter in own.items():
            stacked = np.concatenate([parameters[f"{letter}_{gate}"] for gate in order])
            getattr(network, key).copy_(torch.from_numpy(stacked))
        network.bias_hh_l0.zero_()
    states = network(torch.from_numpy(x)[:, None])[0][:, 0]
    scores = states @ torch.from_numpy(parameters["V"]).T + torch.from_numpy(parameters["c"])
    loss = nn.functional.cross_entropy(scores, torch.from_numpy(y), reduction="sum")
    loss.backward()
    assert found.loss == pytest.approx(float(loss.detach()))
    for key, letter in own.items():
        wanted = getattr(network, key).grad.numpy()
        assert np.concatenate([found.gradients[f"{letter}_{gate}"] for gate in order]) == pytest.approx(
            wanted, abs=1e-12
        )


@pytest.mark.parametrize("name", ["rnn", "gru", "lstm"])
def test_gradient_flow_is_autograd(name: str) -> None:
    steps, size, seed = 5, 3, 4
    found = run("gradient-flow", steps=steps, size=size, seed=seed, gain=1.3).numbers[name]
    cell = random_cell(name, size, 1.3, 2.0, seed)
    generator = torch.Generator().manual_seed(seed + 1)
    inputs = torch.randn(steps, size, generator=generator, dtype=torch.float64)
    targets = torch.randn(steps, size, generator=generator, dtype=torch.float64) / size**0.5
    state = torch.zeros(cell.state_size, dtype=torch.float64)
    states = []
    for one in inputs:
        state = cell(one, state)
        state.retain_grad()
        states.append(state)
    for t in range(steps):
        for one in states:
            one.grad = None
        loss = 0.5 * ((states[t][:size] - targets[t]) ** 2).sum()
        loss.backward(retain_graph=True)
        for s in range(t + 1):
            assert found["gradients"][t, s] == pytest.approx(float(states[s].grad.norm()), rel=1e-10)  # type: ignore[union-attr]
        assert np.isnan(found["gradients"][t, t + 1 :]).all()
        assert found["forward"][t] == pytest.approx(float(states[t][:size].detach().norm()))


@pytest.mark.parametrize("name", ["rnn", "gru", "lstm"])
def test_the_product_of_jacobians_is_that_of_all_steps(name: str) -> None:
    found = run("gradient-flow", steps=7, size=4, gain=1.3).numbers["products"][name]
    assert (
        found["difference"] < 1e-12
        and found["product"] == pytest.approx(found["whole"])
        and found["whole"] > 0
    )


def test_gradients_layer_by_layer_are_autograds() -> None:
    found = run("residual", layers=9, size=5).numbers
    assert np.allclose(found["by_hand"], found["gradients"]["x + F(x)"], rtol=1e-12)


def test_residual_blocks_are_the_identity_at_first() -> None:
    found = run("residual", layers=30, size=6).numbers
    assert found["identity_error"] == 0.0
    assert found["gradients"]["x + F(x), W₂ = 0"] == pytest.approx(np.ones(31), abs=1e-14)
    assert found["jacobian_difference"] < 1e-14
    assert found["gradients"]["plain F(x)"][0] < 1e-3 * found["gradients"]["x + F(x)"][0]


@pytest.mark.parametrize(("layer", "size"), [("dense", 5), ("convolutional", 1)])
def test_the_jacobians_of_plain_layers_multiply(layer: str, size: int) -> None:
    found = run("residual", layers=3, size=size, layer=layer).numbers["product"]
    generator = torch.Generator().manual_seed(0)
    x = start(size, generator, layer)
    made = [weights(size, 0.3, generator, layer) for _ in range(3)]

    def last(x: torch.Tensor) -> torch.Tensor:
        for one in made:
            x = block(x, *one, skip=False)
        return x.flatten()

    units = 1e-5 * torch.eye(x.numel(), dtype=x.dtype).reshape(-1, *x.shape)
    by_differences = torch.stack([(last(x + one) - last(x - one)) / 2e-5 for one in units])
    assert found["norms"][-1] == pytest.approx(float(by_differences.norm()), rel=1e-6)
    assert found["whole"] == pytest.approx(found["norms"][-1], rel=1e-9) and found["difference"] < 1e-14


@pytest.mark.parametrize("settings", [{"layers": 101, "size": 2}, {"layers": 2, "size": 513}])
def test_many_or_large_jacobians_are_not_multiplied(settings: dict[str, int]) -> None:
    assert plain_product(gain=0.3, seed=0, **settings) == {}


def test_a_residual_jacobian_is_the_identity_and_that_of_f() -> None:
    generator = torch.Generator().manual_seed(0)
    made = weights(5, 0.8, generator)
    x = torch.randn(5, generator=generator, dtype=torch.float64)
    alone = torch.autograd.functional.jacobian(lambda one: block(one, *made, skip=False), x)
    assert torch.allclose(block_jacobian(x, *made), torch.eye(5, dtype=torch.float64) + alone, atol=1e-14)


@pytest.mark.parametrize("leaves", [2, 5, 8])
def test_depth_is_autograd(leaves: int) -> None:
    size, gain, seed = 3, 0.9, 1
    generator = torch.Generator().manual_seed(seed)
    weight = gain * torch.randn(size, 2 * size, generator=generator, dtype=torch.float64) / size**0.5
    vectors = torch.randn(leaves, size, generator=generator, dtype=torch.float64)

    def join(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return torch.tanh(weight @ torch.cat([left, right]))

    def chain(given: torch.Tensor) -> torch.Tensor:
        root = given[0]
        for one in given[1:]:
            root = join(root, one)
        return root

    def tree(given: torch.Tensor) -> torch.Tensor:
        level = list(given)
        while len(level) > 1:
            level = [
                join(*level[i : i + 2]) if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)
            ]
        return level[0]

    for shape, compute in (("chain", chain), ("tree", tree)):
        jacobian = torch.autograd.functional.jacobian(compute, vectors)  # (size, leaves, size)
        wanted = jacobian.permute(1, 0, 2).flatten(1).norm(dim=1) / size**0.5
        assert leaf_gradients(leaves, shape, size, gain, seed) == pytest.approx(wanted.numpy(), rel=1e-10)


def test_depth_counts_paths() -> None:
    found = run("depth", leaves=50, size=4).numbers
    assert found["paths"] == {"chain": 49, "tree": 6}
    assert found["chain"].min() < 1e-3 * found["tree"].min()


def test_the_shortest_path_and_the_gradient_of_a_deep_transition() -> None:
    """Against networks whose paths are seen in their equation, and Jacobians by hand."""
    A, B, R = (
        torch.randn(4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(n)) for n in range(3)
    )
    deep = partial(_deep, A, B, 0 * R)
    assert shortest(lambda s: torch.tanh(B @ s), 4) == 1
    assert shortest(lambda s: torch.tanh(A @ torch.tanh(B @ s)), 4) == 2
    assert shortest(partial(_deep, A, B, R), 4) == 1  # the shortcut
    assert shortest(lambda s: torch.cat([torch.tanh(s[:2]), torch.tanh(torch.tanh(s[2:]))]), 4) == 1
    h, product, wanted = np.full(4, 0.1), np.eye(4), []
    for _ in range(3):
        z = np.tanh(B.numpy() @ h)
        h = np.tanh(A.numpy() @ z)
        product = np.diag(1 - h**2) @ A.numpy() @ np.diag(1 - z**2) @ B.numpy() @ product
        wanted.append(np.linalg.norm(product) / 2)
    np.testing.assert_allclose(gradients(deep, 4, 3), wanted, rtol=1e-12)


def _deep(A: torch.Tensor, B: torch.Tensor, R: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
    return torch.tanh(A @ torch.tanh(B @ s) + R @ s)


@pytest.mark.parametrize("layers", [2, 4])
def test_three_networks_with_several_layers(layers: int) -> None:
    found = run("transition", layers=layers).numbers
    assert found["paths"] == {"(a)": 1, "(b)": layers, "(c)": 1}
    last = {kind: norms[-1] for kind, norms in found["gradients"].items()}
    assert last["(b)"] < 0.1 * last["(c)"]
