"""Sums over all structures, step by step, against enumeration."""

import itertools

import numpy as np
import pytest

from regard.inspect.forward_backward import InsideSums, marginals, pair_marginals
from regard.trace import Arcs, Hops, Potentials, Tape, Trace

LABELS, COUNT, WORDS = 3, 4, 4


@pytest.mark.parametrize("each", [True, False])
def test_forward_backward_is_the_sum_over_all_sequences(each):
    generator = np.random.default_rng(0)
    nodes = generator.normal(size=(COUNT, LABELS))
    pairs = generator.normal(size=(COUNT - 1, LABELS, LABELS) if each else (LABELS, LABELS))
    alone, together, total = np.zeros((COUNT, LABELS)), np.zeros((COUNT - 1, LABELS, LABELS)), 0.0
    for z in itertools.product(range(LABELS), repeat=COUNT):
        links = [(pairs[n] if each else pairs)[z[n], z[n + 1]] for n in range(COUNT - 1)]
        weight = np.exp(sum(nodes[n, label] for n, label in enumerate(z)) + sum(links))
        total += weight
        for n, label in enumerate(z):
            alone[n, label] += weight
        for n in range(COUNT - 1):
            together[n, z[n], z[n + 1]] += weight
    found = Potentials("chain", nodes, pairs)
    assert np.abs(marginals(found) - alone / total).max() < 1e-12
    assert np.abs(pair_marginals(found) - together / total).max() < 1e-12
    several = Potentials("chains", np.stack([nodes, nodes[::-1]]), None if each else pairs)
    if not each:
        assert np.abs(marginals(several)[0] - alone / total).max() < 1e-12


def trees():
    """The heads of every projective tree over the words."""
    for heads in itertools.product(range(WORDS + 1), repeat=WORDS):
        arcs = [tuple(sorted((word, head))) for word, head in enumerate(heads, 1)]
        crossing = any(a < c < b < d for (a, b), (c, d) in itertools.product(arcs, arcs))
        if not crossing and all(_reaches(heads, word) for word in range(1, WORDS + 1)):
            yield heads


def _reaches(heads, word):
    for _ in range(WORDS + 1):
        word = heads[word - 1] if word else 0
    return word == 0


def tree_marginals(scores, one_root):
    found, total = np.zeros_like(scores), 0.0
    for heads in trees():
        if one_root and heads.count(0) != 1:
            continue
        weight = np.exp(sum(scores[head, word] for word, head in enumerate(heads, 1)))
        total += weight
        for word, head in enumerate(heads, 1):
            found[head, word] += weight
    return found / total, np.log(total)


@pytest.mark.parametrize("one_root", [True, False])
def test_inside_outside_is_the_sum_over_all_projective_trees(one_root):
    scores = np.random.default_rng(1).normal(size=(WORDS + 1, WORDS + 1))
    expected, log_partition = tree_marginals(scores, one_root)
    chart = InsideSums(scores, one_root=one_root)
    assert chart.log_partition == pytest.approx(log_partition, abs=1e-12)
    assert np.abs(chart.arcs - expected)[:, 1:].max() < 1e-12


def panel(trace, name):
    return next((one for one in trace.panels() if one.name == name), None)


def test_the_steps_of_a_chain_go_forward_and_back():
    nodes = np.array([[2.0, 0.0], [0.0, 0.0], [0.0, 3.0]])
    found = Potentials("chain", nodes, np.zeros((2, 2)), ("N", "V"))
    trace = Trace({"words": ["a", "b", "c"]}, ["N", "N", "V"], kind="tags", potentials={"words": found})
    steps = panel(trace, "forward-backward").steps
    assert len(steps) == 6
    told = [step.description for step in steps]
    assert told[0].startswith("forward to 1") and told[-1].startswith("backward to 1")
    tables = [next(step.contents()).values for step in steps]
    assert np.allclose(tables[0][:, 1:], 0) and tables[0][0, 0] == pytest.approx(np.exp(2) / (1 + np.exp(2)))
    assert np.allclose(tables[-1], marginals(found).T)
    assert panel(trace, "pairs").scene.description.startswith("1 → 2: N, then")
    assert Trace.from_dict(trace.to_dict()).to_dict() == trace.to_dict()


def test_trees_have_steps_only_if_the_sums_are_those_of_the_model():
    scores = np.random.default_rng(1).normal(size=(WORDS + 1, WORDS + 1))
    right, _ = tree_marginals(scores, True)
    found = {"words": Potentials("trees", scores)}
    for table, shown in ((right, True), (np.roll(right, 1, 0), False)):
        arcs = {"words": Arcs([0, 1, 1, 1], table)}
        trace = Trace(
            {"words": list("abcd")}, ["0", "1", "1", "1"], structures=arcs, kind="tree", potentials=found
        )
        assert (panel(trace, "inside-outside") is not None) == shown
        if shown:
            steps = panel(trace, "inside-outside").steps
            assert len(steps) == 2 * WORDS + 1
            assert np.allclose(next(steps[-1].contents()).values[:, 1:], right[:, 1:])


def test_hops_and_tapes_are_shown_one_step_after_another():
    weights = np.array([[0.75, 0.25], [0.0, 1.0]])
    trace = Trace({"story": ["x", "y"]}, ["yes"], kind="label", structures={"story": Hops(weights, [0, 1])})
    first, last = panel(trace, "hops").steps
    assert "Hop 1" in first.description and first.description != last.description
    writes = np.eye(3)[None]
    tape = Tape(writes, writes[:, ::-1])
    steps = panel(Trace({"bits": ["1", "0", "_"]}, ["1"], kind="bits", tapes={"bits": tape}), "tape").steps
    assert [step.description for step in steps][1] == "step 2 of 3: writes to slot 2, reads slot 2"
    assert [float(next(step.contents()).matrices[0].values.sum()) for step in steps] == [1.0, 2.0, 3.0]
