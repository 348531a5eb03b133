"""The pyramidal encoder: fewer positions in higher layers, independent of padding."""

from __future__ import annotations

import pytest
import torch

from regard.data.batch import Tokens
from regard.data.media import Series
from regard.errors import RegardError
from regard.nn import PyramidalEncoder, RecurrentEncoder

LENGTHS = [11, 8, 5, 1]


def series(extra: int = 0) -> Series:
    torch.manual_seed(1)
    values = torch.randn(len(LENGTHS), max(LENGTHS) + extra, 3)  # padding is not zero, and must not be read
    return Series(values, torch.tensor(LENGTHS))


def pyramid(**options) -> PyramidalEncoder:
    torch.manual_seed(0)
    encoder = PyramidalEncoder(3, size=4, **options)
    for parameter in encoder.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return encoder.eval()


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize(("layers", "reductions"), [(1, 0), (2, 0), (1, 1), (3, 2), (3, 3)])
def test_padding_and_neighbours_change_nothing(cell, layers, reductions):
    encoder = pyramid(cell=cell, layers=layers, reductions=reductions)
    for extra in (0, 1, 6):
        batch = series(extra)
        memory = encoder(batch)
        for row, length in enumerate(LENGTHS):
            alone = encoder(Series(batch.values[row : row + 1, :length], torch.tensor([length])))
            left = -(-length // 2**reductions)
            assert alone.values.shape == (1, left, 8) and bool(alone.mask.all())
            assert memory.mask[row].tolist() == [place < left for place in range(memory.mask.shape[1])]
            torch.testing.assert_close(memory.values[row, :left], alone.values[0], atol=1e-6, rtol=1e-5)
            torch.testing.assert_close(memory.summary[row], alone.summary[0], atol=1e-6, rtol=1e-5)


def test_layers_are_torch_s_over_pairs():
    """Three LSTMs of torch over a series of 8 frames: 8 → 4 → 2 positions."""
    encoder = pyramid(cell="lstm", layers=3, reductions=2)
    values = torch.randn(1, 8, 3)
    below = values
    for index, layer in enumerate(encoder.layers):
        if index:
            below = torch.stack(
                [torch.cat([below[0, place], below[0, place + 1]]) for place in range(0, below.shape[1], 2)]
            )[None]
        torch.nn.init.zeros_(layer.first)
        other = torch.nn.LSTM(below.shape[-1], 4, bidirectional=True, batch_first=True)
        with torch.no_grad():
            for direction, suffix in enumerate(("", "_reverse")):
                for name, tensor in layer.cell(direction).named_parameters():
                    getattr(other, f"{name}_l0{suffix}").copy_(tensor)
        below, (last, _) = other(below)
    memory = encoder(Series(values, torch.tensor([8])))
    torch.testing.assert_close(memory.values, below)
    torch.testing.assert_close(memory.summary[0], torch.cat([last[0, 0], last[1, 0]]))
    assert memory.layout == "frames" and memory.values.shape == (1, 2, 8)


def test_without_reductions_it_reads_as_the_recurrent_encoder_does():
    class Frames(torch.nn.Module):
        """Returns frames in place of embeddings."""

        size = 3

        def read(self, tokens, pack):
            return pack(series().values)

    encoder = pyramid(cell="gru", layers=2, reductions=0)
    other = RecurrentEncoder(Frames(), cell="gru", size=4, layers=2).eval()
    other.load_state_dict(encoder.state_dict())
    ids = torch.zeros(len(LENGTHS), max(LENGTHS), dtype=torch.int64)
    torch.testing.assert_close(
        encoder(series()).values, other(Tokens(ids, torch.tensor(LENGTHS))).values, atol=1e-6, rtol=1e-5
    )


def test_positions_are_named_by_their_beginning():
    assert pyramid(layers=2, reductions=1).position_names(series())[2] == ["frame 0", "frame 2", "frame 4"]
    named = pyramid(layers=2, reductions=2, frame_seconds=0.01).position_names(series())
    assert named[0] == ["0.00 s", "0.04 s", "0.08 s"] and named[3] == ["0.00 s"]


def test_every_weight_learns():
    encoder = pyramid(cell="lstm", layers=3, reductions=2).train()
    memory = encoder(series())
    (memory.values.square().sum() + memory.summary.sum()).backward()
    assert all(bool((parameter.grad != 0).any()) for parameter in encoder.parameters())


def test_mistakes_are_named():
    with pytest.raises(RegardError, match="2 layers cannot halve 3 times"):
        PyramidalEncoder(3, layers=2, reductions=3)
    with pytest.raises(RegardError, match="5 features, expected 3"):
        pyramid()(Series(torch.zeros(1, 4, 5), torch.tensor([4])))
