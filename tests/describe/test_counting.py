"""Attention, chains, trees and hops in the notation, against enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.testing.board import Board, Family
from regard.testing.board.listing import Configuration, trees

S, D, H = 4, 3, 5

ATTENTION = """
t = 1 … T, j = 1 … S
e_tj = v_a·tanh(U_a s_t + W_a h_j)
α_t = softmax_j(e_tj)
c_t = Σ_j α_tj h_j
"""


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def normal(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def same(found: Any, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def attention() -> dict[str, Any]:
    return {
        "T": 2,
        "S": S,
        "s_t": normal(2, H),
        "h_j": normal(S, D),
        "v_a": normal(6),
        "U_a": normal(6, H),
        "W_a": normal(6, D),
    }


def test_softmax_attention() -> None:
    given = attention()
    board = Board(ATTENTION, given)
    asked, keys = given["s_t"] @ given["U_a"].T, given["h_j"] @ given["W_a"].T
    expected = torch.softmax(torch.tanh(asked[:, None] + keys) @ given["v_a"], -1)
    same(board.all("α_tj"), expected)
    same(board.all("c_t"), expected @ given["h_j"])


def test_conditions_and_positions() -> None:
    lines = """
    j = 1 … S
    π = softmax_{j: |j − p| ≤ D}(e_j)
    α_j = π_j exp(−2 ((j − p) / D)²)
    n = Σ_{j<S} j
    m = Σ_{j: j ≠ 2, j > 1} 1
    δ_j = [j = 2]
    b = argmax_j(e_j)
    c = argmin_j(e_j)
    x = x_b
    """
    e, rows = torch.tensor([1.0, 5.0, -2.0, 3.0]).double(), normal(S, D)
    board = Board(lines, {"S": S, "D": 1, "e_j": e, "p": torch.tensor(2.4).double(), "x_j": rows})
    expected = torch.softmax(e[1:3], 0)
    same(board.all("π_j"), torch.tensor([0, *expected.tolist(), 0], dtype=torch.float64))
    distance = torch.tensor([2.0, 3.0]).double() - torch.tensor(2.4).double()
    same(board.all("α_j")[1:3], expected * torch.exp(-(distance**2) / (2 * 0.5**2)))
    assert (board("n"), board("m"), board("b"), board("c")) == (6, 2, 2, 3)
    assert board.all("δ_j").tolist() == [0, 1, 0, 0]
    same(board("x"), rows[1])


def test_a_chain_by_counting_all_sequences() -> None:
    lines = """
    j = 1 … S
    y ∈ {1 … C}^S
    ψ(y) = a_y[y_1] + Σ_j f_j[y_j] + Σ_{j<S} A_y[y_j, y_{j+1}] + o_y[y_S]
    p(y) = exp(ψ(y)) / Σ_y exp(ψ(y))
    """
    C = 3
    start, nodes, moves, end = normal(C), normal(S, C), normal(C, C), normal(C)
    board = Board(lines, {"S": S, "C": C, "a_y": start, "f_j": nodes, "A_y": moves, "o_y": end})
    scores = {}
    for tags in itertools.product(range(C), repeat=S):
        score = start[tags[0]] + end[tags[-1]] + sum(nodes[place, tag] for place, tag in enumerate(tags))
        scores[tags] = (score + sum(moves[one, other] for one, other in itertools.pairwise(tags))).exp()
    total = sum(scores.values())
    for tags, score in list(scores.items())[::9]:
        same(board("p(y)", y=Configuration(tag + 1 for tag in tags)), score / total)


def test_segments_by_counting() -> None:
    lines = """
    j = 1 … S
    z ∈ {0, 1}^S
    ψ(z) = Σ_j e_j z_j + Σ_{j<S} b_a[z_j, z_{j+1}]
    α_j = Σ_{z: z_j = 1} exp(ψ(z)) / Σ_z exp(ψ(z))
    """
    e = normal(S)
    apart = Board(lines, {"S": S, "e_j": e, "b_a": Family(torch.zeros(2, 2), (0, 0))})
    same(apart.all("α_j"), torch.sigmoid(e))
    together = Board(lines, {"S": S, "e_j": 0 * e, "b_a": Family(50 * torch.eye(2).double(), (0, 0))})
    same(together.all("α_j"), torch.full((S,), 0.5).double())


@pytest.mark.parametrize(("words", "projective", "spanning"), [(1, 1, 1), (2, 2, 2), (3, 7, 9), (4, 30, 64)])
def test_all_trees_are_listed(words: int, projective: int, spanning: int) -> None:
    """Known numbers: n^(n − 1) rooted trees; 1, 2, 7, 30 projective ones."""
    assert len(trees("projective", words)) == projective
    assert len(trees("spanning", words)) == spanning


def test_a_tree_by_the_matrix_tree_theorem() -> None:
    lines = """
    j = 1 … N, k = 0 … N
    y ∈ spanning(N)
    Z = Σ_y exp(Σ_j s_{y_j,j})
    π_kj = Σ_{y: y_j = k} exp(Σ_j s_{y_j,j}) / Z
    """
    N = 3
    s = normal(N + 1, N + 1)
    board = Board(lines, {"N": N, "s_kj": Family(s[:, 1:], (0, 1))})
    arcs = s.exp()[1:, 1:] * (1 - torch.eye(N))
    laplacian = torch.diag(arcs.sum(0)) - arcs
    laplacian[0] = s.exp()[0, 1:]  # one word is attached to the root
    same(board("Z"), torch.linalg.det(laplacian))
    same(board.all("π_kj").sum(0), torch.ones(N).double())


def test_hops_of_a_memory_network() -> None:
    lines = """
    k = 1 … K, j = 1 … S
    α_k = softmax_j(u_k·m_j)
    o_k = Σ_j α_kj c_j
    u_1 = u
    u_k = H_u u_{k−1} + o_{k−1}     for k = 2 … K + 1
    r = [u; o_1; …; o_K]
    """
    m, c, u, carry = normal(S, D), normal(S, D), normal(D), normal(D, D)
    board = Board(lines, {"K": 3, "S": S, "m_j": m, "c_j": c, "u": u, "H_u": carry})
    state, read = u, []
    for _ in range(3):
        read.append(torch.softmax(m @ state, 0) @ c)
        state = carry @ state + read[-1]
    same(board("u_{K+1}"), state)
    same(board("r"), torch.cat([u, *read]))


def test_an_embedding_is_an_entry() -> None:
    E, ids = normal(6, D), torch.tensor([0, 5, 2])
    board = Board("j = 1 … S\nx_j = E_x[w_j]", {"S": 3, "E_x": Family(E, (0,)), "w_j": ids})
    same(board.all("x_j"), E[ids])
