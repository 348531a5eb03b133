"""Labs on surfaces, attractors, clipping, convolution, copying and small networks."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from regard.course.lab import run
from regard.course.lab.attractors import follow
from regard.course.lab.cells import Match, best_cells, correlations, features, followed, made_text, strongest
from regard.course.lab.clipping import DESCENT, NORM, RATE, clipped, descend, train
from regard.course.lab.convolution import convolve, pool
from regard.course.lab.ladder import Rungs, sequences
from regard.course.lab.memory import CharacterModel, lines
from regard.course.lab.surface import surface
from regard.course.lab.timing import TimedLayers


def test_the_surface_and_its_gradient_are_autograds() -> None:
    for w, b in ((5.0, -2.5), (3.0, 0.5), (7.0, -3.0)):
        leaves = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (w, b)]
        x = torch.tensor(0.5, dtype=torch.float64)
        for _ in range(30):
            x = leaves[0] * torch.sigmoid(x) + leaves[1]
        loss = (torch.sigmoid(x) - 0.7) ** 2
        loss.backward()
        found = surface(np.array(w), np.array(b), steps=30)
        wanted = [float(loss.detach()), *(float(leaf.grad) for leaf in leaves)]  # type: ignore[arg-type]
        assert [float(one) for one in found] == pytest.approx(wanted, rel=1e-10)


def test_the_error_surface_has_a_cliff() -> None:
    found = run("error-surface", grid=60).numbers
    assert found["gradient_norm"].max() > 50 * np.median(found["gradient_norm"])
    slice_ = found["slice"]
    assert np.gradient(slice_["loss"], slice_["w"])[200:205] == pytest.approx(
        slice_["slope"][200:205], rel=0.05
    )


def test_iterated_functions_and_their_fixed_points() -> None:
    result = run("attractors", grid=40)
    values = dict(result.table[1])
    fixed = values["fixed point 1 − 1/r"]
    assert 3.5 * fixed * (1 - fixed) == pytest.approx(fixed)
    x = result.numbers["x"]
    twice = 3.5 * (3.5 * x * (1 - x)) * (1 - 3.5 * x * (1 - x))
    assert result.numbers["iterated"]["2"] == pytest.approx(twice)
    ends = np.unique(result.numbers["iterated"]["40"][5:-5].round(3))
    orbit = 0.5
    for _ in range(1000):
        orbit = 3.5 * orbit * (1 - orbit)
    cycle = [orbit := 3.5 * orbit * (1 - orbit) for _ in range(4)]  # at 3.5 every start ends in a 4-cycle
    near = np.abs(ends[:, None] - np.array(cycle)).min(1) < 0.01
    assert near.mean() > 0.5


def test_basins_and_their_gradient() -> None:
    weights = np.array([[2.0, 0.4], [-0.3, 2.0]])
    starts = np.array([[0.3, -0.2], [1.0, 0.9]])
    ends, slopes = follow(weights, starts, 6)
    for start, end, slope in zip(starts, ends, slopes, strict=True):

        def go(h: torch.Tensor) -> torch.Tensor:
            for _ in range(5):
                h = torch.tanh(torch.from_numpy(weights) @ h)
            return h

        first = torch.from_numpy(start)
        assert end == pytest.approx(go(first).numpy())
        jacobian = torch.autograd.functional.jacobian(go, first).numpy()
        assert slope == pytest.approx(np.linalg.svd(jacobian)[1][0], rel=1e-9)
    found = run("attractors", grid=60, weights=[[2.0, 0.4], [-0.3, 2.0]]).numbers
    for home in found["attractors"]:
        assert np.tanh(weights @ home) == pytest.approx(home, abs=1e-6)  # a fixed point
    assert len(found["attractors"]) == 4
    assert found["gradient"].max() > 1 > np.median(found["gradient"])


def test_attractors_are_flat() -> None:
    """At a fixed point the factor of a step is the spectral radius of its Jacobian, and 100 steps leave its power."""
    weights = np.array([[1.5, 0.0], [0.0, 2.0]])
    found = run("attractors", grid=40, weights=weights.tolist(), steps=101).numbers
    assert len(found["attractors"]) == 4
    for home, rate in zip(found["attractors"], found["contraction"], strict=True):
        jacobian = (1 - home**2)[:, None] * weights
        assert rate == pytest.approx(np.abs(np.linalg.eigvals(jacobian)).max(), rel=1e-3) and rate < 1
    assert found["flat"].mean() > 0.9 and (found["gradient"][found["flat"]] < 0.01).all()
    # r = 2.5: every start ends at the fixed point 0.6, where |f'| = 0.5, so 40 iterations leave 0.5^40 of a difference.
    calm, wild = (
        run("attractors", grid=10, rate=rate, many=40).numbers["flat_x"]["40"] for rate in (2.5, 4.0)
    )
    assert calm > 0.97 and wild < 0.01  # r = 4 has no attractor that is flat


def test_clipping_shortens_and_keeps_the_direction() -> None:
    gradient = np.array([3.0, -4.0])
    assert clipped(gradient, 1.0) == pytest.approx([0.6, -0.8])
    assert clipped(gradient, 5.0) == pytest.approx(gradient) and clipped(gradient, None) == pytest.approx(
        gradient
    )
    steps = np.linalg.norm(np.diff(descend(NORM), axis=0), axis=1)
    assert len(steps) == DESCENT and steps.max() <= RATE * NORM * (1 + 1e-9)
    assert np.linalg.norm(np.diff(descend(None), axis=0), axis=1).max() > 2 * RATE * NORM


@pytest.mark.parametrize("clip", [None, 0.05])
def test_training_with_clipping_is_torchs_sgd_on_gradients_scaled_by_hand(clip: float | None) -> None:
    text, size, rate, steps = "abracadabra, " * 20, 6, 0.5, 4
    losses, norms = train(text=text, rate=rate, clip=clip, steps=steps, size=size, seed=0)

    letters = sorted(set(text))
    ids = torch.tensor([letters.index(letter) for letter in text])
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network, output = torch.nn.RNN(len(letters), size), torch.nn.Linear(size, len(letters))
        torch.nn.init.orthogonal_(network.weight_hh_l0)
    weights = [*network.parameters(), *output.parameters()]
    optimizer = torch.optim.SGD(weights, lr=rate)
    generator = torch.Generator().manual_seed(0)
    for step in range(steps):
        starts = torch.randint(0, len(ids) - 51, (16,), generator=generator)
        rows = torch.stack([ids[start : start + 51] for start in starts.tolist()], 1)  # (T + 1, B)
        states = network(torch.eye(len(letters))[rows[:-1]])[0]
        loss = -output(states).log_softmax(-1).gather(-1, rows[1:, :, None]).mean()
        optimizer.zero_grad()
        loss.backward()
        norm = float(torch.cat([one.grad.flatten() for one in weights if one.grad is not None]).norm())
        assert (losses[step], norms[step]) == pytest.approx((loss.item(), norm), rel=1e-4)
        if clip is not None:
            assert norm > clip
            for one in weights:
                assert one.grad is not None
                one.grad *= clip / norm
        optimizer.step()


@pytest.mark.parametrize(("stride", "padding"), [(1, 0), (2, 1), (3, 2)])
def test_convolution_is_torchs(stride: int, padding: int) -> None:
    generator = np.random.default_rng(0)
    picture, kernel = generator.standard_normal((8, 8)), generator.standard_normal((3, 3))
    wanted = torch.nn.functional.conv2d(
        torch.from_numpy(picture)[None, None],
        torch.from_numpy(kernel)[None, None],
        stride=stride,
        padding=padding,
    )[0, 0]
    found = convolve(picture, kernel, stride, padding)
    assert found == pytest.approx(wanted.numpy())
    for how, function in (("max", torch.nn.functional.max_pool2d), ("mean", torch.nn.functional.avg_pool2d)):
        assert pool(found, 2, how) == pytest.approx(function(wanted[None], 2)[0].numpy())


def test_copying_keeps_what_its_rank_allows() -> None:
    V, lengths, sizes = 4, (1, 2, 3, 5, 8), (3, 6, 9, 15)
    found = run("lossy", symbols=V, lengths=lengths, sizes=sizes, rows=300).numbers
    for i, n in enumerate(lengths):
        for j, D in enumerate(sizes):
            freedom = n * (V - 1)
            assert found["variance_kept"][i, j] == pytest.approx(min(1.0, D / freedom), abs=1e-6)
            if freedom <= D:
                assert found["accuracy"][i, j] == 1.0
            elif freedom >= 2 * D:
                assert found["accuracy"][i, j] < 0.99
    assert (np.diff(found["accuracy"], axis=0) <= 0.05).all()  # longer is never easier


def test_an_easier_question_is_answered_where_the_whole_is_not_recovered() -> None:
    """Same size: all of 16 symbols, one of them, and the last one, of a state that forgets the others."""
    found = run("lossy", symbols=5, lengths=[2, 16], sizes=[16], rows=200).numbers
    assert found["whole"][:, 0].tolist() == [1, 0]
    assert found["last_symbol"][:, 0].tolist() == [1, 1] and 0.2 < found["accuracy"][1, 0] < 0.9
    small = run("lossy", symbols=5, lengths=[8], sizes=[2], rows=200).numbers
    assert small["last_symbol"][0, 0] < 1  # V − 1 directions do not fit into two


def test_digits_of_one_number_are_not_bound_by_its_rank() -> None:
    """Exact while V^n ≤ 2^53, by Python's integers; 5^22 < 2^53 < 5^23."""
    found = run("lossy", symbols=5, lengths=[10, 11, 16, 22, 40], sizes=[1], rows=50).numbers
    assert found["digits_exact_up_to"] == {"float32": 10, "float64": 22}
    assert 5**22 < 2**53 < 5**23 and 5**10 < 2**24 < 5**11
    assert found["digits"]["float64"][:4].tolist() == [1, 1, 1, 1] and found["digits"]["float64"][4] < 0.9
    assert found["digits"]["float32"][0] == 1 > found["digits"]["float32"][2]
    assert (found["variance_kept"] <= found["bound"] + 1e-9).all()
    assert found["accuracy"][2, 0] < 0.5  # the best linear read-out of one number


def test_no_linear_writing_and_reading_keeps_more() -> None:
    """Least squares on any writing, also one that is no recurrence: the kept variance is at most its rank's share."""
    generator = np.random.default_rng(3)
    V, n, D, rows = 4, 5, 6, 4000
    drawn = np.eye(V)[generator.integers(0, V, (rows, n))].reshape(rows, -1)
    x = drawn - drawn.mean(0)
    for _ in range(3):
        h = x @ generator.standard_normal((n * V, D))
        lost = x - h @ np.linalg.lstsq(h, x, rcond=None)[0]
        assert 1 - (lost**2).sum() / (x**2).sum() <= 1.02 * D / (n * (V - 1))


def test_timing_counts_steps_that_wait() -> None:
    layers = TimedLayers(6)
    x = torch.randn(40, 6)
    waited = {}
    for name in ("recurrence", "convolution", "attention"):
        whole = layers.run(name, x)
        waited[name] = layers.steps
        assert whole.shape == x.shape
        # None of them is affected by future inputs.
        assert torch.allclose(layers.run(name, x[:25]), whole[:25], atol=1e-5)
    assert waited == {"recurrence": 40, "convolution": 1, "attention": 1}
    found = run("timing", longest=512, repetitions=3, size=16).numbers
    assert found["sequential_steps"] == {"recurrence": 512, "convolution": 1, "attention": 1}
    chains = found["longest_chain"]  # each step multiplies and squashes
    assert np.diff(chains["recurrence"]).tolist() == [2 * t for t in found["lengths"][:-1]]
    assert len(set(chains["convolution"])) == len(set(chains["attention"])) == 1
    assert (
        found["backward_milliseconds"]["recurrence"][-1] > 4 * found["backward_milliseconds"]["recurrence"][0]
    )
    assert (
        found["milliseconds"]["recurrence"][-1] > 4 * found["milliseconds"]["recurrence"][0]
    )  # 32 times as long


def naive(family: str, rung: int, network: Rungs, place: int, inputs: torch.Tensor) -> torch.Tensor:
    """The equations of a rung as in the lecture, one sequence at a time."""
    size = network.size
    W, U, b = network.W[place], network.U[place], network.b[place, 0]
    h, c = torch.zeros(size), torch.zeros(size)
    for x in inputs:
        a = (x @ U + b + h @ W).split(size)
        if family == "LSTM":
            i, f, o, new = torch.sigmoid(a[0]), torch.sigmoid(a[1]), torch.sigmoid(a[2]), torch.tanh(a[3])
            if rung == 1:
                h = new
                continue
            c = {2: c + new, 3: f * c + new}.get(rung, f * c + i * new)
            h = o * torch.tanh(c) if rung == 5 else torch.tanh(c)
        else:
            r, z = torch.sigmoid(a[0]), torch.sigmoid(a[1])
            reset = r * h if rung >= 2 else h
            new = torch.tanh((x @ U + b)[2 * size :] + reset @ W[:, 2 * size :])
            h = {3: z * new, 4: (1 - z) * h + z * new}.get(rung, new)
    return h @ network.V[place] + network.c[place, 0]


@pytest.mark.parametrize(("family", "rungs"), [("LSTM", 5), ("GRU", 4)])
def test_each_rung_is_its_equation(family: str, rungs: int) -> None:
    options = SimpleNamespace(steps=7, symbols=3, size=4, rates=(0.01, 0.1), seed=0)
    network = Rungs(family, options)
    assert network.count == rungs and network.networks == 2 * rungs
    inputs, _ = sequences(5, options, torch.Generator().manual_seed(0))
    scores = network.forward(inputs.expand(network.networks, *inputs.shape))
    found = []
    for place in range(network.networks):
        for row in range(5):
            wanted = naive(family, place // 2 + 1, network, place, inputs[row])
            assert torch.allclose(scores[place, row], wanted, atol=1e-5)
        found.append(scores[place])
    assert not any(torch.allclose(found[2 * i], found[2 * i + 2], atol=1e-3) for i in range(rungs - 1))


def test_the_ladder_learns_where_it_is_short(learning_seed: int) -> None:
    """Three steps are short enough for every additive rung; training and evaluation use the same task."""
    found = run("ladder", steps=3, updates=60, size=8, rates=[0.03], symbols=2, seed=learning_seed).numbers
    assert found["LSTM"]["accuracy"]["5 + output gate"] > 0.9
    assert found["GRU"]["accuracy"]["4 + copy"] > 0.9
    assert found["LSTM"]["losses"].shape == (5, 60)


def test_features_of_a_text() -> None:
    found = features(list('ab (c) "d"\nx'))
    assert found["place in the line"].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0]
    assert found["inside brackets"].tolist() == [0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    assert found["inside quotes"].tolist() == [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0]
    assert found["place in the word"].tolist() == [1, 2, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1]


def test_the_best_cell_of_a_feature() -> None:
    generator = np.random.default_rng(0)
    memories = generator.standard_normal((200, 5))
    known = {"one": memories[:, 3] * 2 + 1, "other": -memories[:, 1] + 0.1 * generator.standard_normal(200)}
    wanted = np.corrcoef(memories.T, known["other"])[-1, :-1]
    assert correlations(memories, known["other"]) == pytest.approx(wanted)
    first, second = best_cells(memories, known)
    assert (first.feature, first.cell) == ("one", 3) and first.correlation == pytest.approx(1.0)
    assert (second.feature, second.cell) == ("other", 1) and second.correlation < -0.9
    assert (correlations(np.ones((200, 2)), known["one"]) == 0).all()


def test_cells_find_brackets_in_seconds() -> None:
    found = run("cells", updates=45, size=24).numbers
    assert abs(found["correlations"]["inside brackets"]) > 0.6
    assert found["text"].count("\n") > 20 and len(set(found["cells"].values())) == len(found["cells"])
    assert len(made_text(0)) >= 20_000
    assert abs(found["new"]["inside brackets"]) > 0.6
    assert abs(found["untrained"]["inside brackets"]) < abs(found["correlations"]["inside brackets"])


def test_cells_are_compared_with_new_lines_and_with_an_untrained_network() -> None:
    generator = np.random.default_rng(0)
    memories = generator.standard_normal((50, 3))
    values = -memories[:, 2] + generator.standard_normal(50)
    wanted = [np.corrcoef(memories[:, cell], values)[0, 1] for cell in range(3)]
    assert strongest(memories, {"one": values})["one"] == pytest.approx(wanted[2]) and wanted[2] < -0.5
    found = followed(memories, {"one": values}, [Match("one", 1, 0.9, values)])
    assert found == {"one": pytest.approx(wanted[1])}


def test_cells_of_a_run(tmp_path: Path) -> None:
    """The states of a trained model's encoder, one per character."""
    from tests.model.small import build, spec

    model = build(spec(encoder={"size": 6, "cell": "lstm"}))
    model.save(tmp_path / "run")
    text = tmp_path / "text.txt"
    text.write_text("abc cab bac\n" * 40, encoding="utf-8")
    found = run("cells", run=str(tmp_path / "run"), text=str(text)).numbers
    assert set(found["text"]) <= set("abc ") and found["activations"]
    (values,) = [found["activations"]["place in the word"]]
    assert len(values) == len(found["text"])


def test_what_to_see_in_attractors_follows_what_was_computed() -> None:
    usual = run("attractors", grid=24).see
    assert "its slopes grow" in usual and "large only on the boundaries" in usual
    for rate, once, often in ((0, "0", "0"), (1, "1", "1"), (2, "2", "1.1e12")):
        found = run("attractors", grid=24, rate=rate).see
        assert "its slopes grow" not in found
        assert f"largest slope is {once} after one iteration and {often} after 40" in found
    still = run("attractors", grid=24, weights=[[0, 0], [0, 0]])
    assert "all starts end at one attractor, and the gradient is at most 0 (median 0)." in still.see
    slow = run("attractors", grid=24, weights=[[0, -2], [2, 0]]).see
    assert "boundaries" not in slow and "there are 4 attractors" in slow


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "have vanished, stayed or exploded, and only the leading eigenvector is left."),
        ({"radii": [1]}, "have neither vanished nor exploded, and only the leading"),
        ({"radii": [2]}, "have exploded, and only the leading"),
        ({"radii": [0.5, 0.6, 2]}, "have vanished or exploded, and"),
        (
            {"steps": 2},
            "have neither vanished nor exploded, and other eigenvectors than the leading one still",
        ),
    ],
)
def test_what_to_see_in_a_spectrum_follows_what_was_computed(settings: dict[str, Any], told: str) -> None:
    assert told in run("spectrum", **settings).see


@pytest.mark.parametrize(("steps", "together"), [(40, 1.0), (41, 1.2)])
def test_layers_with_a_matrix_each_keep_what_one_of_them_repeated_does_not(
    steps: int, together: float
) -> None:
    found = run("spectrum", size=5, steps=steps, radii=[0.5, 1.2], own=True)
    ends = [layers[-1] for layers in found.numbers["layers"].values()]
    assert ends == pytest.approx([together, 1.2**steps, 1.2**-steps])
    assert "W_2 each time" in [row[0] for row in found.table[1]]
    assert not run("spectrum", size=5, steps=5).numbers["layers"]


def test_a_character_model_reads_the_last_characters_alone() -> None:
    """What stands before the remembered characters changes nothing; lines have the words they are told to have."""
    text = lines(3, 400, 4)
    assert {len(line.split()) for line in text.splitlines()} == {4}
    network = CharacterModel(sorted(set(text)), SimpleNamespace(size=5, seed=0, updates=0))
    beginnings = {network.read(beginning + text[8:], 4, 12) for beginning in (text[:8], text[8:16])}
    assert len(beginnings) == 1
    assert network.read(text[:8] + text[8:], 8, 12) != network.read(text[8:16] + text[8:], 8, 12)
