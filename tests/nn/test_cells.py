"""Cells against torch's own."""

from __future__ import annotations

import pytest
import torch

from regard.nn import GRUCell, LSTMCell, RNNCell
from regard.nn.cells import make_cell

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
