"""The Triton kernels, run by Triton's interpreter, against the numba kernels: their arithmetic, not their races.

`test_kernels_cuda.py` runs this file in a process of its own with TRITON_INTERPRET=1, which must be set before
Triton is imported.
"""

from __future__ import annotations

import pytest
import torch

from regard.structures.kernels.cpu import chain as cpu_chain
from regard.structures.kernels.cpu import projective as cpu_projective
from regard.structures.kernels.cuda import chain as cuda_chain
from regard.structures.kernels.cuda import projective as cuda_projective

INF = float("inf")
TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-9}


def random_tensor(*shape, seed, dtype, holes=0.0, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    value = scale * torch.randn(*shape, generator=generator, dtype=torch.float64)
    value[torch.rand(*shape, generator=generator) < holes] = -INF
    return value.to(dtype)


def close(mine, theirs, dtype, factor=1.0):
    tolerance = TOLERANCE[dtype] * factor
    torch.testing.assert_close(mine, theirs, rtol=tolerance, atol=tolerance)


CHAINS = [  # N, C, holes, scale, dtype
    (4, 2, 0.0, 1.0, torch.float64),
    (5, 2, 0.3, 1.0, torch.float32),
    (4, 2, 0.2, 50.0, torch.float64),
    (1, 2, 0.0, 1.0, torch.float32),
    (4, 3, 0.0, 1.0, torch.float64),
    (5, 3, 0.3, 1.0, torch.float32),
    (4, 5, 0.2, 50.0, torch.float64),
    (1, 3, 0.0, 1.0, torch.float32),
]


@pytest.mark.parametrize(("N", "C", "holes", "scale", "dtype"), CHAINS)
def test_chain(N, C, holes, scale, dtype):
    lengths = torch.tensor([N, N, max(0, N - 2), 0])
    B = len(lengths)
    init = random_tensor(B, C, seed=N, dtype=dtype, holes=holes / 2, scale=scale)
    edges = random_tensor(B, N - 1, C, C, seed=C, dtype=dtype, holes=holes, scale=scale)
    close(
        cuda_chain.log_partition(init, edges, lengths), cpu_chain.log_partition(init, edges, lengths), dtype
    )
    states, joints = cpu_chain.marginals(init, edges, lengths)
    got_states, got_joints = cuda_chain.marginals(init, edges, lengths)
    close(got_states, states, dtype)
    close(got_joints, joints, dtype)
    g_states, g_edges = (
        random_tensor(B, C, seed=1, dtype=dtype),
        random_tensor(*edges.shape, seed=2, dtype=dtype),
    )
    g_edges[edges == -INF] = INF
    expected = cpu_chain.covariance(states, joints, lengths, g_states, g_edges)
    got = cuda_chain.covariance(states, joints, lengths, g_states, g_edges)
    close(got[0], expected[0], dtype, 5.0)
    close(got[1], expected[1], dtype, 5.0)


def test_two_states_too_long_for_a_scan(monkeypatch):
    monkeypatch.setattr(cuda_chain, "LONGEST_SCAN", 4)
    test_chain(5, 2, 0.2, 1.0, torch.float64)


@pytest.mark.parametrize("C", [2, 3])
def test_shifted_chain_in_single_precision(C):
    init, edges = torch.zeros(2, C), random_tensor(2, 14, C, C, seed=0, dtype=torch.float32)
    lengths = torch.tensor([15, 10])
    plain = cpu_chain.marginals(init, edges, lengths)[1]
    shifted = (edges.double() + 1e4).float()
    got = cuda_chain.marginals(init, shifted, lengths)[1]
    # the shift itself rounds the potentials to 1e-3
    torch.testing.assert_close(got, plain, rtol=0, atol=2e-3)
    torch.testing.assert_close(got, cpu_chain.marginals(init, shifted, lengths)[1], rtol=0, atol=2e-5)


TREES = [  # N, single_root, holes, scale, shift, dtype
    (4, True, 0.0, 1.0, 0.0, torch.float64),
    (4, False, 0.3, 1.0, 0.0, torch.float32),
    (4, True, 0.3, 50.0, 0.0, torch.float64),
    (3, False, 0.0, 1.0, 1e4, torch.float64),
]


@pytest.mark.parametrize(("N", "single_root", "holes", "scale", "shift", "dtype"), TREES)
def test_projective(N, single_root, holes, scale, shift, dtype):
    lengths = torch.tensor([N, N - 1, 0])
    arcs = random_tensor(3, N + 1, N + 1, seed=N, dtype=dtype, holes=holes, scale=scale) + shift
    arcs[1, :, 2] = -INF if holes else arcs[1, :, 2]
    close(
        cuda_projective.log_partition(arcs, lengths, single_root),
        cpu_projective.log_partition(arcs, lengths, single_root),
        dtype,
    )
    expected = cpu_projective.marginals(arcs, lengths, single_root)
    close(cuda_projective.marginals(arcs, lengths, single_root), expected, dtype)
    gradient = random_tensor(*arcs.shape, seed=1, dtype=dtype)
    close(
        cuda_projective.covariance(arcs, lengths, single_root, gradient),
        cpu_projective.covariance(arcs, lengths, single_root, gradient),
        dtype,
        5.0,
    )


def test_tiles_smaller_than_a_sentence(monkeypatch):
    tiny = {"ITEMS": 2, "PARTS": 2, "num_warps": 1, "num_stages": 1}
    monkeypatch.setattr(cuda_projective, "options", lambda size: tiny)
    test_projective(4, True, 0.2, 1.0, 0.0, torch.float64)
