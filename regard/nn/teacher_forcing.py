"""Teacher forcing: the inputs and the targets of teacher forcing."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.data.batch import BEGIN, END, PAD, Tokens
from regard.nn.packing import Packing


def shifted(target: Tokens) -> tuple[Tensor, Tensor, Tensor]:
    """Previous words, next words and their lengths: [BEGIN, y_1 … y_n] → [y_1 … y_n, END], both (B, T+1)."""
    begin = target.ids.new_full((len(target.ids), 1), BEGIN)
    previous = torch.cat([begin, target.ids], 1)
    following = torch.cat([target.ids, torch.full_like(begin, PAD)], 1)
    following = following.scatter(1, target.lengths[:, None], END)
    return previous, following, target.lengths + 1


def forced(target: Tokens) -> tuple[Tensor, Tensor, Packing]:
    """Previous and next words as in `shifted`, and the packing of their positions, for teacher forcing."""
    previous, following, lengths = shifted(target)
    counts = None if target.counts is None else target.counts + 1
    return previous, following, Packing.of(lengths, following.shape[1], counts)
