"""Cells against torch's own."""

from __future__ import annotations

import pytest
import torch

from regard.fast.recurrence import kernel_of
from regard.nn import GRUCell, LSTMCell, RNNCell
from regard.nn.cells import DeepCell, JordanCell, MultiplicativeCell, make_cell

ROWS, INPUT, SIZE = 3, 5, 4


def twins(ours, theirs):
    theirs.load_state_dict(ours.state_dict())
    return torch.randn(ROWS, INPUT), torch.randn(ROWS, ours.state_size)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_rnn(activation):
    cell, other = (
        RNNCell(INPUT, SIZE, activation=activation),
        torch.nn.RNNCell(INPUT, SIZE, nonlinearity=activation),
    )
    inputs, state = twins(cell, other)
    torch.testing.assert_close(cell(inputs, state), other(inputs, state))


@pytest.mark.parametrize(("activation", "function"), [("sigmoid", torch.sigmoid), ("identity", lambda x: x)])
def test_rnn_with_other_activations(activation, function):
    cell = RNNCell(INPUT, SIZE, activation=activation)
    inputs, state = torch.randn(ROWS, INPUT), torch.randn(ROWS, SIZE)
    expected = function(inputs @ cell.weight_ih.T + cell.bias_ih + state @ cell.weight_hh.T + cell.bias_hh)
    torch.testing.assert_close(cell(inputs, state), expected)


def test_gru():
    cell, other = GRUCell(INPUT, SIZE), torch.nn.GRUCell(INPUT, SIZE)
    inputs, state = twins(cell, other)
    torch.testing.assert_close(cell(inputs, state), other(inputs, state))


def test_gru_with_cho_s_update_lets_the_new_state_in():
    cell = GRUCell(INPUT, SIZE, update="cho")
    inputs, state = torch.randn(ROWS, INPUT), torch.randn(ROWS, SIZE)
    gates, recurrent = cell.project(inputs), state @ cell.weight_hh.T + cell.bias_hh
    r, z = torch.sigmoid(gates + recurrent)[:, : 2 * SIZE].chunk(2, 1)
    n = torch.tanh(gates[:, 2 * SIZE :] + r * recurrent[:, 2 * SIZE :])
    torch.testing.assert_close(cell(inputs, state), z * n + (1 - z) * state)


def test_lstm():
    cell, other = LSTMCell(INPUT, SIZE), torch.nn.LSTMCell(INPUT, SIZE)
    inputs, state = twins(cell, other)
    hidden, carry = other(inputs, (state[:, :SIZE], state[:, SIZE:]))
    torch.testing.assert_close(cell(inputs, state), torch.cat([hidden, carry], 1))
    torch.testing.assert_close(cell.output(cell(inputs, state)), hidden)


@pytest.mark.parametrize("name", ["rnn", "gru", "lstm"])
def test_several_hypotheses_at_once(name):
    cell = make_cell(name, INPUT, SIZE)
    inputs, state = torch.randn(2, 3, INPUT), torch.randn(2, 3, cell.state_size)
    torch.testing.assert_close(cell(inputs, state)[1, 2], cell(inputs[1, 2], state[1, 2]))


def naive(weight, bias, vector):
    """W x + b, element by element."""
    return torch.stack(
        [sum(weight[i, k] * vector[k] for k in range(len(vector))) + bias[i] for i in range(len(bias))]
    )


def step_by_hand(cell, inputs, state, equation):
    """One step of each row by itself, in double precision."""
    return torch.stack([equation(cell, x, h) for x, h in zip(inputs, state, strict=True)])


def reset_before(cell, x, h):
    W, U, b, c = (
        [*part.split(SIZE)] for part in (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    )
    r, z = (torch.sigmoid(naive(W[g], b[g], x) + naive(U[g], c[g], h)) for g in (0, 1))
    n = torch.tanh(naive(W[2], b[2], x) + naive(U[2], c[2], r * h))
    return (1 - z) * n + z * h


def sigmoid_gru(cell, x, h):
    W, U, b, c = (
        [*part.split(SIZE)] for part in (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    )
    r, z = (torch.sigmoid(naive(W[g], b[g], x) + naive(U[g], c[g], h)) for g in (0, 1))
    return (1 - z) * torch.sigmoid(naive(W[2], b[2], x) + r * naive(U[2], c[2], h)) + z * h


def sigmoid_lstm(cell, x, state):
    h, m = state.split(SIZE)
    W, U, b, c = (
        [*part.split(SIZE)] for part in (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    )
    i, f, g, o = (torch.sigmoid(naive(W[k], b[k], x) + naive(U[k], c[k], h)) for k in range(4))
    m = f * m + i * g
    return torch.cat([o * torch.sigmoid(m), m])


def multiplicative(cell, x, h):
    W, U, b, c = (
        [*part.split(SIZE)] for part in (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    )
    m = naive(W[0], b[0], x) * naive(U[0], c[0], h)
    return torch.tanh(naive(W[1], b[1], x) + naive(U[1], c[1], m))


def jordan(cell, x, y):
    hidden = torch.tanh(naive(cell.weight_ih, cell.bias_ih, x) + naive(cell.weight_hh, cell.bias_hh, y))
    return torch.tanh(naive(cell.write.weight, cell.write.bias, hidden))


def deep(cell, x, state):
    m = state[SIZE:]
    for layer in cell.before:
        x = torch.tanh(naive(layer.weight, layer.bias, x))
    z = torch.tanh(naive(cell.weight_ih, cell.bias_ih, x) + naive(cell.weight_hh, cell.bias_hh, m))
    z = torch.tanh(naive(cell.within[0].weight, cell.within[0].bias, z))
    z = torch.tanh(naive(cell.within[1].weight, cell.within[1].bias, z) + cell.skip.weight @ m)
    y = z
    for layer in cell.after:
        y = torch.tanh(naive(layer.weight, layer.bias, y))
    return torch.cat([y, z])


@pytest.mark.parametrize(
    ("cell", "equation"),
    [
        (GRUCell(INPUT, SIZE, reset="before"), reset_before),
        (GRUCell(INPUT, SIZE, activation="sigmoid"), sigmoid_gru),
        (LSTMCell(INPUT, SIZE, activation="sigmoid"), sigmoid_lstm),
        (MultiplicativeCell(INPUT, SIZE), multiplicative),
        (JordanCell(INPUT, SIZE), jordan),
        (DeepCell(INPUT, SIZE, input=2, transition=3, output=2, skip=True), deep),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_cell_is_its_equation(cell, equation):
    cell = cell.double()
    inputs, state = torch.randn(ROWS, INPUT).double(), torch.randn(ROWS, cell.state_size).double()
    torch.testing.assert_close(
        cell(inputs, state), step_by_hand(cell, inputs, state, equation), atol=1e-10, rtol=0
    )
    assert kernel_of([cell]) is None and cell.torch_recurrence() is None
