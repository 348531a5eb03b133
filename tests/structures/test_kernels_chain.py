"""The chain kernels against enumeration of every path, and against plain recursions for longer chains."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
import threading

import pytest
import torch

from regard.structures import kernels

INF = float("inf")


def random_chain(B, N, C, *, seed=0, holes=0.0, dtype=torch.float64, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    init = scale * torch.randn(B, C, generator=generator, dtype=dtype)
    edges = scale * torch.randn(B, N - 1, C, C, generator=generator, dtype=dtype)
    init[torch.rand(init.shape, generator=generator) < holes] = -INF
    edges[torch.rand(edges.shape, generator=generator) < holes] = -INF
    return init, edges


def enumerate_chain(init, edges, length):
    """Score and parts of every path of one chain: [(score, first state, [(n, i, j), …]), …]."""
    for path in itertools.product(range(init.shape[0]), repeat=length):
        arcs = [(n, path[n], path[n + 1]) for n in range(length - 1)]
        score = float(init[path[0]]) + sum(float(edges[arc]) for arc in arcs)
        yield score, path, arcs


def truth(init, edges, lengths):
    log_z, states, joints = torch.zeros(len(lengths)), torch.zeros_like(init), torch.zeros_like(edges)
    log_z = log_z.double()
    for b, length in enumerate(lengths.tolist()):
        if length == 0:
            continue
        paths = list(enumerate_chain(init[b], edges[b], length))
        top = max(score for score, _, _ in paths)
        if top == -INF:
            log_z[b] = -INF
            continue
        total = sum(math.exp(score - top) for score, _, _ in paths)
        log_z[b] = top + math.log(total)
        for score, path, arcs in paths:
            probability = math.exp(score - top) / total
            states[b, path[0]] += probability
            for arc in arcs:
                joints[(b, *arc)] += probability
    return log_z, states, joints


CASES = [(2, 5, 0.0), (3, 4, 0.0), (2, 6, 0.35), (3, 5, 0.35), (1, 4, 0.2), (4, 1, 0.0), (2, 2, 0.3)]


@pytest.mark.parametrize(("C", "N", "holes"), CASES)
def test_equal_to_enumeration(C, N, holes):
    init, edges = random_chain(N + 6, N, C, holes=holes, seed=C * 10 + N)
    lengths = torch.arange(N + 6) % (N + 1)
    log_z, states, joints = truth(init, edges, lengths)
    torch.testing.assert_close(kernels.chain_log_partition(init, edges, lengths), log_z, rtol=0, atol=1e-9)
    got_states, got_joints = kernels.chain_marginals(init, edges, lengths)
    torch.testing.assert_close(got_states, states, rtol=0, atol=1e-9)
    torch.testing.assert_close(got_joints, joints, rtol=0, atol=1e-9)
    assert (got_joints[edges == -INF] == 0).all()


@pytest.mark.parametrize("C", [2, 3])
def test_mode_is_the_best_path(C):
    init, edges = random_chain(12, 5, C, holes=0.3, seed=C)
    lengths = torch.arange(12) % 6
    scores, paths = kernels.chain_mode(init, edges, lengths)
    for b, length in enumerate(lengths.tolist()):
        assert (paths[b, length:] == -1).all()
        if length == 0:
            assert scores[b] == 0
            continue
        best, path, _ = max(enumerate_chain(init[b], edges[b], length))
        assert float(scores[b]) == pytest.approx(best, abs=1e-9)
        if best > -INF:
            assert paths[b, :length].tolist() == list(path)
        else:
            assert (paths[b] == -1).all()


@pytest.mark.parametrize("C", [2, 3])
def test_gradients(C):
    init, edges = random_chain(3, 4, C, seed=3)
    lengths = torch.tensor([4, 1, 3])
    inputs = (init.requires_grad_(), edges.requires_grad_())
    assert torch.autograd.gradcheck(lambda a, e: kernels.chain_log_partition(a, e, lengths), inputs)
    assert torch.autograd.gradcheck(lambda a, e: kernels.chain_marginals(a, e, lengths), inputs)
    assert torch.autograd.gradgradcheck(lambda a, e: kernels.chain_log_partition(a, e, lengths), inputs)


@pytest.mark.parametrize("C", [2, 3])
def test_backward_of_marginals_with_impossible_parts(C):
    """Parts at −inf get zero gradient; the others the gradient of a chain where −inf is very low."""
    init, edges = random_chain(8, 5, C, holes=0.3, seed=11)
    edges[0] = -INF
    lengths = torch.tensor([5, 5, 4, 3, 2, 1, 5, 5])
    weight = torch.randn(edges.shape, dtype=torch.float64)

    def gradients(floor):
        leaves = [torch.where(x == -INF, floor, x).requires_grad_() for x in (init, edges)]
        _, joints = kernels.chain_marginals(*leaves, lengths)
        return torch.autograd.grad((joints * weight).sum(), leaves)

    possible = truth(init, edges, lengths)[0] > -INF
    for exact, near, potential in zip(gradients(-INF), gradients(-200.0), (init, edges), strict=True):
        assert exact.isfinite().all()
        assert (exact[potential == -INF] == 0).all()
        assert (exact[~possible] == 0).all()
        torch.testing.assert_close(exact[possible], near[possible], rtol=0, atol=1e-9)


def plain_marginals(init, edges):
    alpha = [init]
    for n in range(edges.shape[1]):
        alpha.append(torch.logsumexp(alpha[-1][:, :, None] + edges[:, n], 1))
    return torch.logsumexp(alpha[-1], 1)


@pytest.mark.parametrize(("C", "N", "scale", "shift"), [
    (2, 80, 50.0, 0.0), (5, 80, 50.0, 0.0), (2, 80, 1.0, 1e4), (5, 80, 1.0, -1e4), (16, 40, 3.0, 0.0),
])  # fmt: skip
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_wide_scores_and_shifts(C, N, scale, shift, dtype):
    init, edges = random_chain(4, N, C, scale=scale, seed=7)
    edges = (edges + shift).to(dtype)
    init = init.to(dtype)
    lengths = torch.full((4,), N)
    exact = [init.double().requires_grad_(), edges.double().requires_grad_()]
    log_z = plain_marginals(*exact)
    marginals = torch.autograd.grad(log_z.sum(), exact, create_graph=True)
    weight = torch.randn(edges.shape, dtype=dtype)
    second = torch.autograd.grad((marginals[1] * weight).sum(), exact)
    leaves = [init.requires_grad_(), edges.requires_grad_()]
    tolerance = 1e-9 if dtype == torch.float64 else 2e-5
    torch.testing.assert_close(
        kernels.chain_log_partition(*leaves, lengths).double(), log_z, rtol=tolerance, atol=tolerance
    )
    states, joints = kernels.chain_marginals(*leaves, lengths)
    torch.testing.assert_close(states.double(), marginals[0], rtol=0, atol=tolerance)
    torch.testing.assert_close(joints.double(), marginals[1], rtol=0, atol=tolerance)
    got = torch.autograd.grad((joints * weight).sum(), leaves)
    for mine, theirs in zip(got, second, strict=True):
        torch.testing.assert_close(mine.double(), theirs, rtol=0, atol=20 * tolerance)


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("low", [-30.0, -200.0, -1e4])
def test_a_state_all_but_lost_decides(C, dtype, low):
    """At position 1, state 1 scores far below the others, but only state 1 can continue."""
    init, edges = random_chain(3, 5, C, seed=5)
    edges[0, 0, :, 1] += low
    edges[0, 1, torch.arange(C) != 1] = -INF
    edges[1, 2, :, 0] = -INF  # an unreachable state, next to ordinary chains
    init, edges = init.to(dtype), edges.to(dtype)
    lengths = torch.tensor([5, 5, 4])
    log_z, states, joints = truth(init.double(), edges.double(), lengths)
    tolerance = 1e-9 if dtype == torch.float64 else 1e-6
    got_states, got_joints = kernels.chain_marginals(init, edges, lengths)
    torch.testing.assert_close(got_states.double(), states, rtol=0, atol=tolerance)
    torch.testing.assert_close(got_joints.double(), joints, rtol=0, atol=tolerance)
    got = kernels.chain_log_partition(init, edges, lengths).double()
    torch.testing.assert_close(got, log_z, rtol=tolerance, atol=tolerance)


def test_not_a_number_stays_in_its_chain():
    for C in (2, 3):
        init, edges = random_chain(3, 4, C)
        expected = kernels.chain_marginals(init, edges, None)[1]
        edges[1, 1, 0, 0] = torch.nan
        joints = kernels.chain_marginals(init, edges, None)[1]
        assert joints[1].isnan().any() and kernels.chain_log_partition(init, edges, None)[1].isnan()
        torch.testing.assert_close(joints[[0, 2]], expected[[0, 2]])


def test_strided_inputs_and_inference_mode():
    init, edges = random_chain(6, 5, 3)
    lengths = torch.tensor([5, 4, 3, 2, 1, 0])
    expected = kernels.chain_log_partition(init, edges, lengths)
    strided = edges.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)
    before = strided.clone()
    with torch.inference_mode():
        torch.testing.assert_close(kernels.chain_log_partition(init, strided, lengths), expected)
        kernels.chain_marginals(init, strided, lengths)
    assert torch.equal(before, strided)


def test_vmap_and_grad_transforms():
    init, edges = random_chain(6, 5, 3)
    lengths = torch.tensor([5, 4, 3, 2, 1, 0])
    stacked = torch.stack([edges, 2 * edges])
    got = torch.func.vmap(lambda e: kernels.chain_log_partition(init, e, lengths))(stacked)
    torch.testing.assert_close(got[1], kernels.chain_log_partition(init, 2 * edges, lengths))
    gradient = torch.func.grad(lambda e: kernels.chain_log_partition(init, e, lengths).sum())(edges)
    torch.testing.assert_close(gradient, kernels.chain_marginals(init, edges, lengths)[1])


def test_compiled_by_torch_gives_the_same_numbers():
    init, edges = random_chain(4, 5, 3)
    lengths = torch.tensor([5, 4, 3, 2])

    def loss(e):
        return (kernels.chain_marginals(init, e * 2, lengths)[1] ** 2).sum()

    plain, compiled = edges.clone().requires_grad_(), edges.clone().requires_grad_()
    loss(plain).backward()
    torch.compile(loss, backend="aot_eager")(compiled).backward()
    torch.testing.assert_close(compiled.grad, plain.grad)


def test_many_threads_at_once():
    chains = [random_chain(16, 60, 4, seed=seed) for seed in range(8)]
    lengths = torch.full((16,), 60)
    expected = [kernels.chain_marginals(*chain, lengths)[1] for chain in chains]
    wrong = []

    def work(index):
        for _ in range(5):
            if not torch.equal(kernels.chain_marginals(*chains[index], lengths)[1], expected[index]):
                wrong.append(index)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


SCRIPT = """
import sys
import torch
import regard.structures.kernels as kernels
assert "numba" not in sys.modules and "triton" not in sys.modules
from numba.core import caching
for locator in caching.CacheImpl._locator_classes:
    locator.ensure_cache_path = lambda self: (_ for _ in ()).throw(OSError("read-only"))
value = kernels.chain_log_partition(torch.zeros(1, 2), torch.zeros(1, 2, 2, 2), torch.tensor([3]))
print(float(value.exp()))
"""


@pytest.mark.thorough
def test_works_where_nothing_can_be_cached():
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(8, abs=1e-4)


def test_availability():
    edges = torch.zeros(2, 3, 2, 2)
    assert kernels.available("chain", edges)
    assert not kernels.available("chain", edges.bfloat16())
    assert not kernels.available("unheard-of", edges)
