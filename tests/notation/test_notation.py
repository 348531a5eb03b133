"""The meaning of the notation, against torch and hand-computed values."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.notation import primed
from regard.testing.board import Board, NotationError

S, D, H = 4, 3, 5

GRU = """
gru_d(h, x) = (1 − z) ⊙ n + z ⊙ h
    r = σ(W_rd x + b_rd + U_rd h + c_rd)
    z = σ(W_zd x + b_zd + U_zd h + c_zd)
    n = tanh(W_nd x + b_nd + r ⊙ (U_nd h + c_nd))
"""
BOTH = """
j = 1 … S, d ∈ {→, ←}
→h_j = gru_→(→h_{j−1}, x_j)
←h_j = gru_←(←h_{j+1}, x_j)
→h_0 = 0_H
←h_{S+1} = 0_H
h_j = [→h_j; ←h_j]     — the memory
"""
LSTM = """
t = 1 … T
s_t, m_t = lstm(s_{t−1}, m_{t−1}, x_t)
s_0 = 0_H
m_0 = 0_H
lstm(h, m, x) = (o ⊙ tanh(m′), m′)
    i = σ(W_i x + b_i + U_i h + c_i)
    f = σ(W_f x + b_f + U_f h + c_f)
    g = tanh(W_g x + b_g + U_g h + c_g)
    o = σ(W_o x + b_o + U_o h + c_o)
    m′ = f ⊙ m + i ⊙ g
"""


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def normal(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def weights(module: nn.Module, gates: str, ending: str = "", label: str = "") -> dict[str, Any]:
    """The weights of a torch recurrence, by their names in the notation."""
    found = {}
    parts = {"W": "weight_ih", "U": "weight_hh", "b": "bias_ih", "c": "bias_hh"}
    for letter, name in parts.items():
        whole = getattr(module, name + ending).detach()
        for gate, piece in zip(gates, whole.chunk(len(gates)), strict=True):
            found[f"{letter}_{gate}{label}"] = piece
    return found


def same(found: Any, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected.detach(), rtol=1e-12, atol=1e-12)


def both(module: nn.GRU) -> dict[str, Any]:
    return weights(module, "rzn", "_l0", "→") | weights(module, "rzn", "_l0_reverse", "←")


# Against torch.


def test_a_denominator_in_parentheses_may_be_a_product() -> None:
    assert float(Board(["a = 12 / (d u)"], {"d": torch.tensor(2.0), "u": torch.tensor(3.0)})("a")) == 2.0


def test_a_gru_in_both_directions() -> None:
    module, x = nn.GRU(D, H, bidirectional=True).double(), normal(S, D)
    board = Board(BOTH + GRU, both(module) | {"x_j": x, "S": S, "H": H})
    same(board.all("h_j"), module(x)[0])
    assert not board.unused()


def test_a_gru_cell_without_a_function() -> None:
    cell, x = nn.GRUCell(D, H).double(), normal(S, D)
    lines = """
    t = 1 … T
    r_t = σ(W_r x_t + b_r + U_r s_{t−1} + c_r)
    z_t = σ(W_z x_t + b_z + U_z s_{t−1} + c_z)
    n_t = tanh(W_n x_t + b_n + r_t ⊙ (U_n s_{t−1} + c_n))
    s_t = (1 − z_t) ⊙ n_t + z_t ⊙ s_{t−1}
    """
    first = normal(H)
    board = Board(lines, weights(cell, "rzn") | {"x_t": x, "T": S, "s_0": first})
    state, expected = first, []
    for step in x:
        state = cell(step, state)
        expected.append(state)
    same(board.all("s_t"), torch.stack(expected))


def test_an_lstm_gives_two_things() -> None:
    module, x = nn.LSTM(D, H).double(), normal(S, D)
    board = Board(LSTM, weights(module, "ifgo", "_l0") | {"x_t": x, "T": S, "H": H})
    states, (_, carried) = module(x)
    same(board.all("s_t"), states)
    same(board("m_T"), carried[0])
    cell = nn.LSTMCell(D, H).double()
    alone = Board(LSTM, weights(cell, "ifgo") | {"x_t": x, "T": 1, "H": H})
    same(alone("s_1"), cell(x[0])[0])


def test_layers_are_families_of_weights() -> None:
    module, x = nn.RNN(D, H, num_layers=2).double(), normal(S, D)
    lines = """
    j = 1 … S, l = 1 … 2
    h_0j = x_j
    h_lj = tanh(W_l h_{l−1,j} + b_l + U_l h_{l,j−1} + c_l)
    h_l0 = 0_H
    """
    found = {"x_j": x, "S": S, "H": H}
    for layer in (1, 2):
        found |= {
            name.replace("_x", f"_{layer}"): weight
            for name, weight in weights(module, "x", f"_l{layer - 1}").items()
        }
    same(Board(lines, found).all("h_lj")[1], module(x)[0])


@pytest.mark.parametrize("width", [1, 3, 5])
def test_convolutions(width: int) -> None:
    line = nn.Conv1d(D, H, width, padding=width // 2, bias=False).double()
    x = normal(D, 7)
    same(Board("y = F_x * x", {"F_x": line.weight.detach(), "x": x})("y"), line(x[None])[0])
    plane = nn.Conv2d(D, H, width, padding=width // 2).double()
    picture = normal(D, 6, 7)
    bound = {"F_x": plane.weight.detach(), "b_x": plane.bias.detach(), "x": picture}
    same(Board("y = F_x * x + b_x", bound)("y"), plane(picture[None])[0])
    same(Board("y = F_x ⋆ x", bound)("y"), nn.functional.conv2d(picture, bound["F_x"]))


def test_a_convolution_of_even_width_at_every_second_place() -> None:
    layer, x = nn.Conv2d(D, H, 4, stride=2, padding=1, bias=False).double(), normal(D, 6, 8)
    same(Board("y = (F_x * x)↓2", {"F_x": layer.weight.detach(), "x": x})("y"), layer(x[None])[0])


def test_maps_are_vectors_at_every_place() -> None:
    norm, x = nn.LayerNorm(D).double(), normal(D, 5, 4)
    with torch.no_grad():
        norm.weight.normal_(), norm.bias.normal_()
    lines = """
    norm(x, g, b) = g ⊙ (x − mean(x)) / √(mean((x − mean(x))²) + 0.00001) + b
    y = norm(x, g_x, b_x)
    z = maxpool(y)
    u = z[2]
    v = z[1, 2]
    """
    board = Board(lines, {"x": x, "g_x": norm.weight.detach(), "b_x": norm.bias.detach()})
    expected = norm(x.permute(1, 2, 0)).permute(2, 0, 1)
    same(board("y"), expected)
    pooled = nn.functional.max_pool2d(expected[None], 2, ceil_mode=True)[0]
    same(board("z"), pooled)
    same(board("u"), pooled[:, 0, 1])
    same(board("v"), pooled[:, 0, 1])
    same(Board("y = meanpool(x)", {"x": x})("y"), nn.functional.avg_pool2d(x[None], 2)[0])


# Errors are noticed.


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("(1 − z) ⊙ n + z ⊙ h", "(1 + z) ⊙ n + z ⊙ h"),
        ("(1 − z) ⊙ n + z ⊙ h", "z ⊙ n + (1 − z) ⊙ h"),
        ("r ⊙ (U_nd h + c_nd)", "r ⊙ U_nd h"),
        ("W_rd x + b_rd", "W_rd x"),
        ("←h_{j+1}", "←h_{j−1}"),
        ("tanh(W_nd", "σ(W_nd"),
    ],
)
def test_a_wrong_equation_is_noticed(right: str, wrong: str) -> None:
    module, x = nn.GRU(D, H, bidirectional=True).double(), normal(S, D)
    text = (BOTH + GRU).replace("←h_{S+1}", "←h_0") if "j−1" in wrong else BOTH + GRU
    assert right in text
    board = Board(text.replace(right, wrong), both(module) | {"x_j": x, "S": S, "H": H})
    assert (board.all("h_j") - module(x)[0]).abs().max() > 1e-3


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("y = W_q x", "nothing gives W_q; there is W_x"),
        ("y = W_x u", "a matrix of 5 × 3 times a vector of 5 is not defined"),
        ("y = x + u", "a vector of 3 + a vector of 5 is not defined"),
        ("y = x u", "write · or ⊙ between vectors"),
        ("y = x·u", "a vector of 3 · a vector of 5 is not defined"),
        ("y = x / 2 x", "the denominator must be one factor"),
        ("y = x - x", "minus is written −"),
        ("y = Σ_j x", "no line says what j goes over"),
        ("j = 1 … 3\ny = x_j", "j is an index, and nothing says which one"),
        ("j = 1 … 3\nj = 1 … 4", "the index j has two ranges"),
        ("y = y + 1", "y is defined by itself"),
        ("y = 1\ny = 2", "two lines define y"),
        ("x = 1\ny = x", "x is on the board and in the binding"),
        ("y = x[4]", "entry 4 is asked for; there are 1 … 3"),
        ("y = sinus(x)", "there is no function sinus"),
        ("j = 1 … 3\ny = norm_j(x_j)", "there is no function norm_j; over an index are softmax, sparsemax"),
        ("j = 1 … 3\ny = sofmax_{j: j > 1}(x[j])", "there is no function sofmax_j"),
        ("    y = x", "an indented line belongs to a function"),
        ("y = (x", "expected ), received the end of the line"),
        ("y = x § 2", "is not a symbol of the notation"),
        ("y ∈ {0, 1}^40\nz = Σ_y 1\ny = z", "too many to list"),
    ],
)
def test_mistakes_are_told(lines: str, words: str) -> None:
    with pytest.raises(NotationError) as error:
        board = Board(lines.split("\n"), {"W_x": normal(H, D), "x": normal(D), "u": normal(H)})
        board("z" if "z =" in lines else "y")
    assert words in str(error.value)


def test_the_line_is_told_with_the_mistake() -> None:
    with pytest.raises(NotationError) as error:
        Board("y = W_x u + 1", {"W_x": normal(H, D), "u": normal(H)})("y")
    assert "y = W_x u + 1" in str(error.value)


def test_what_nothing_asked_for_is_told() -> None:
    board = Board("y = x", {"x": normal(D), "b_x": normal(D)})
    board("y")
    assert board.unused() == {"b_x"}


def test_a_symbol_in_a_condition_gets_its_prime_and_a_label_of_a_weight_does_not() -> None:
    lines = [
        "j = 1 … S",
        "α = softmax_{j: e_j ≥ τ}(e_j)",
        "τ = max_{j: e_j < ρ}(e_j)",
        "ρ = W_{r,x} x + max_j(e_j)",
    ]
    assert primed(lines, 1, kept=["x"]) == [
        "j′ = 1 … S′",
        "α′ = softmax_{j′: e′_j′ ≥ τ′}(e′_j′)",
        "τ′ = max_{j′: e′_j′ < ρ′}(e′_j′)",
        "ρ′ = W′_{r,x} x + max_j′(e′_j′)",
    ]
