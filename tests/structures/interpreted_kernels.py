"""The Triton kernels in Triton's interpreter, against the numba kernels: tests arithmetic, not races.

`test_kernels_cuda.py` runs this file in a separate process with TRITON_INTERPRET=1, which must be set before
Triton is imported.
"""

from __future__ import annotations

import pytest
import torch

from regard.structures.kernels.cpu import chain as cpu_chain
from regard.structures.kernels.cpu import matrix_tree as cpu_spanning
from regard.structures.kernels.cpu import projective as cpu_projective
from regard.structures.kernels.cpu import segments as cpu_segments
from regard.structures.kernels.cuda import chain as cuda_chain
from regard.structures.kernels.cuda import projective as cuda_projective
from regard.structures.kernels.cuda import segments as cuda_segments
from regard.structures.kernels.cuda import spanning as cuda_spanning
from tests.quick_interpreter import exchange_once

exchange_once()
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
    (5, 3, 0.3, 1.0, torch.float32),
    (4, 5, 0.2, 50.0, torch.float64),
    (1, 3, 0.0, 1.0, torch.float32),
    (4, 20, 0.3, 1.0, torch.float32),
    (4, 34, 0.3, 50.0, torch.float64),
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


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("lengths", [None, torch.tensor(3).expand(3)])
def test_chain_with_what_may_be_left_out(C, lengths):
    """No initial scores, no gradient of the first state, no lengths, or one length expanded."""
    init, edges = torch.zeros(3, C), random_tensor(3, 3, C, C, seed=C, dtype=torch.float32)
    known = torch.tensor([3, 3, 3] if lengths is not None else [4, 4, 4])
    close(
        cuda_chain.log_partition(None, edges, lengths),
        cpu_chain.log_partition(init, edges, known),
        torch.float32,
    )
    states, joints = cpu_chain.marginals(init, edges, known)
    for mine, theirs in zip(cuda_chain.marginals(None, edges, lengths), (states, joints), strict=True):
        close(mine, theirs, torch.float32)
    gradient = random_tensor(*edges.shape, seed=2, dtype=torch.float32)
    expected = cpu_chain.covariance(states, joints, known, init, gradient)
    for mine, theirs in zip(
        cuda_chain.covariance(states, joints, lengths, None, gradient), expected, strict=True
    ):
        close(mine, theirs, torch.float32, 5.0)


@pytest.mark.parametrize(
    ("holes", "scale", "dtype"),
    [(0.0, 1.0, torch.float64), (0.3, 50.0, torch.float64), (0.2, 1.0, torch.float32)],
)
@pytest.mark.parametrize(("ragged", "longest_scan"), [(True, 4), (False, 4096)])
def test_segments(monkeypatch, holes, scale, dtype, ragged, longest_scan):
    monkeypatch.setattr(cuda_chain, "LONGEST_SCAN", longest_scan)
    lengths = torch.tensor([5, 4, 1, 0]) if ragged else None
    scores = random_tensor(4, 5, seed=1, dtype=dtype, holes=holes, scale=scale)
    transitions = random_tensor(2, 2, seed=2, dtype=dtype, scale=scale).expand(4, 2, 2)
    inside, joints = cpu_segments.marginals(scores, transitions, lengths)
    for mine, theirs in zip(
        cuda_segments.marginals(scores, transitions, lengths), (inside, joints), strict=True
    ):
        close(mine, theirs, dtype)
    gradient = random_tensor(4, 5, seed=3, dtype=dtype)
    expected = cpu_segments.covariance(inside, joints, lengths, gradient)
    for mine, theirs in zip(
        cuda_segments.covariance(inside, joints, lengths, gradient), expected, strict=True
    ):
        close(mine, theirs, dtype, 5.0)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("lengths", [None, torch.tensor([5, 4, 1, 0]), torch.tensor(4).expand(4)])
def test_spanning(single_root, lengths):
    holes, dtype = (0.0, torch.float64) if lengths is None else (0.1, torch.float32)
    arcs = random_tensor(4, 6, 6, seed=5, dtype=dtype, holes=holes)
    value, large = cuda_spanning.log_partition(arcs, lengths, single_root)
    assert (large < 1e4).all()
    close(value, cpu_spanning.log_partition(arcs, lengths, single_root)[0], dtype)
    expected, inverses, _ = cpu_spanning.marginals(arcs, lengths, single_root)
    got, turned, _ = cuda_spanning.marginals(arcs, lengths, single_root)
    close(got, expected, dtype)
    gradient = random_tensor(*arcs.shape, seed=1, dtype=dtype)
    expected = cpu_spanning.covariance(arcs, lengths, single_root, inverses, gradient)
    close(cuda_spanning.covariance(arcs, lengths, single_root, turned, gradient), expected, dtype, 5.0)


@pytest.mark.parametrize("single_root", [True, False])
def test_an_inverse_that_cannot_be_trusted_is_told(single_root):
    """A cycle of both words, which makes the matrix nearly singular, and a sentence without any tree."""
    arcs = torch.zeros(2, 3, 3, dtype=torch.float64)
    arcs[0, 0] = -40.0
    arcs[1, :, 2] = -INF
    large = cuda_spanning.marginals(arcs, None, single_root)[2]
    assert not (large < 1e4).any()


@pytest.mark.parametrize("lengths", [None, torch.tensor(3).expand(2)])
def test_projective_without_lengths_and_with_one_expanded(lengths):
    arcs, gradient = random_tensor(2, 2, 5, 5, seed=9, dtype=torch.float64)
    for name, more in {"log_partition": (), "marginals": (), "covariance": (gradient,)}.items():
        expected = getattr(cpu_projective, name)(arcs, lengths, True, *more)
        close(getattr(cuda_projective, name)(arcs, lengths, True, *more), expected, torch.float64)


@pytest.mark.parametrize("C", [2, 3, 20, 34])
def test_not_a_number_stays_in_its_chain(C):
    lengths = torch.tensor([4, 4, 4])
    init, edges = torch.zeros(3, C), random_tensor(3, 3, C, C, seed=C, dtype=torch.float32)
    expected = cuda_chain.marginals(init, edges, lengths)
    edges[1, 1, 0, 0] = torch.nan
    assert cuda_chain.log_partition(init, edges, lengths).isfinite().tolist() == [True, False, True]
    for mine, theirs in zip(cuda_chain.marginals(init, edges, lengths), expected, strict=True):
        assert mine[1].isnan().any()
        close(mine[[0, 2]], theirs[[0, 2]], torch.float32)


def test_not_a_number_stays_in_its_segments_and_trees():
    lengths, transitions = torch.tensor([4, 4, 4]), random_tensor(2, 2, seed=3, dtype=torch.float32)
    scores = random_tensor(3, 4, seed=1, dtype=torch.float32)
    scores[1, 2] = torch.nan
    inside = cuda_segments.marginals(scores, transitions.expand(3, 2, 2).contiguous(), lengths)[0]
    assert inside.isfinite().all(1).tolist() == [True, False, True]
    arcs = random_tensor(3, 5, 5, seed=2, dtype=torch.float32)
    arcs[1, 2, 3] = torch.nan
    assert cuda_projective.log_partition(arcs, lengths, True).isfinite().tolist() == [True, False, True]
    for marginals in (
        cuda_projective.marginals(arcs, lengths, True),
        cuda_spanning.marginals(arcs, lengths, True)[0],
    ):
        assert marginals.isfinite().flatten(1).all(1).tolist() == [True, False, True]
