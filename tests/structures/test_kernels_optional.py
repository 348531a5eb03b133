"""Optional and expanded arguments of every kernel: lengths, initial scores, the gradient of one output."""

from __future__ import annotations

import pytest
import torch

from regard.structures import kernels

B, N = 3, 5
GENERATOR = torch.Generator().manual_seed(0)
EDGES, INIT, ARCS, SCORES = (
    torch.randn(*shape, dtype=torch.float64, generator=GENERATOR)
    for shape in ((B, N - 1, 3, 3), (B, 3), (B, N + 1, N + 1), (B, N))
)
PAIRS = EDGES[..., :2, :2]
TRANSITIONS = torch.randn(2, 2, dtype=torch.float64, generator=GENERATOR).expand(B, 2, 2)
ENTRIES = {
    "chain_log_partition": lambda n: kernels.chain_log_partition(INIT, EDGES, n),
    "chain_marginals": lambda n: kernels.chain_marginals(INIT, EDGES, n),
    "chain_mode": lambda n: kernels.chain_mode(INIT, EDGES, n),
    "two states, log_partition": lambda n: kernels.chain_log_partition(INIT[:, :2], PAIRS, n),
    "two states, marginals": lambda n: kernels.chain_marginals(INIT[:, :2], PAIRS, n),
    "segment_marginals": lambda n: kernels.segment_marginals(SCORES, TRANSITIONS, n),
    "projective_log_partition": lambda n: kernels.projective_log_partition(ARCS, n, True),
    "projective_marginals": lambda n: kernels.projective_marginals(ARCS, n, True),
    "projective_mode": lambda n: kernels.projective_mode(ARCS, n, True),
    "spanning_log_partition": lambda n: kernels.spanning_log_partition(ARCS, n, False),
    "spanning_marginals": lambda n: kernels.spanning_marginals(ARCS, n, False),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_one_length_expanded_and_no_lengths(name):
    """An expanded length is a view of stride 0: its storage does not hold B numbers."""
    entry = ENTRIES[name]
    torch.testing.assert_close(entry(torch.tensor(3).expand(B)), entry(torch.tensor([3, 3, 3])))
    torch.testing.assert_close(entry(None), entry(torch.tensor([N, N, N])))


@pytest.mark.parametrize("edges", [EDGES, PAIRS], ids=["three states", "two states"])
def test_no_initial_scores_are_zeros(edges):
    zeros = torch.zeros(B, edges.shape[-1], dtype=torch.float64)
    torch.testing.assert_close(
        kernels.chain_log_partition(None, edges, None), kernels.chain_log_partition(zeros, edges, None)
    )
    torch.testing.assert_close(
        kernels.chain_marginals(None, edges, None), kernels.chain_marginals(zeros, edges, None)
    )


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("edges", [EDGES, PAIRS], ids=["three states", "two states"])
def test_gradient_of_one_output_alone(edges, which):
    edges = edges.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda e: kernels.chain_marginals(None, e, None)[which], edges)


def test_gradients_of_segments():
    lengths = torch.tensor([5, 1, 0])
    leaves = (SCORES.clone().requires_grad_(), TRANSITIONS.contiguous().requires_grad_())
    assert torch.autograd.gradcheck(lambda s, t: kernels.segment_marginals(s, t, lengths), leaves)
    mapped = torch.func.vmap(lambda s: kernels.segment_marginals(s, TRANSITIONS, lengths))(
        torch.stack([SCORES, -SCORES])
    )
    torch.testing.assert_close(mapped[1], kernels.segment_marginals(-SCORES, TRANSITIONS, lengths))
