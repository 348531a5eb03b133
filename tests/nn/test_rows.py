"""Rows of a grid against torch's GRU, row by row."""

from __future__ import annotations

import torch

from regard.data.media import Images
from regard.nn.encoders.image import ImageEncoder, ResidualNetwork, RowReader


def test_each_row_is_read_in_both_directions_on_its_own() -> None:
    torch.manual_seed(0)
    rows = RowReader((3, 5), 6)
    torch.nn.init.normal_(rows.layer.first)
    reference = torch.nn.GRU(6, 3, batch_first=True, bidirectional=True)
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    with torch.no_grad():
        for direction, ending in enumerate(("", "_reverse")):
            for name, weight in zip(names, rows.layer.cell(direction).torch_weights(), strict=True):
                getattr(reference, name + ending).copy_(weight)
        values = torch.randn(2, 15, 6)
        found = rows(values)
        assert found.shape == (2, 15, 6)
        for row in range(3):
            part = slice(5 * row, 5 * row + 5)
            first = rows.layer.first.unsqueeze(1).expand(2, 2, 3).contiguous()
            torch.testing.assert_close(
                found[:, part], reference(values[:, part], first)[0], atol=1e-5, rtol=1e-4
            )


def test_an_encoder_with_rows_leaves_a_grid_of_even_width() -> None:
    network = ResidualNetwork((1, 16, 32), channels=(5, 7), stride=4)
    encoder = ImageEncoder(network, position="learned", rows=True)
    memory = encoder(Images(torch.randint(0, 256, (2, 1, 16, 32), dtype=torch.uint8)))
    assert memory.values.shape == (2, 32, 8) == (2, 32, encoder.value_size)
    assert memory.shape == (4, 8) and memory.summary.shape == (2, encoder.summary_size)
