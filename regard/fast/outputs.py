"""The output layers whose logits a path computes."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.nn.decoders.output import Output
from regard.nn.path import Replaces
from regard.private import eager, triton_works

OUTPUTS = Replaces(Output, methods=("forward",))
"""The layers whose logits a path computes."""
CHANGED_OUTPUT = "The output layer was changed."


def on_cuda(rows: Tensor, weight: Tensor) -> bool:
    """Whether the kernels for CUDA support these tensors."""
    return rows.is_cuda and weight.dtype in (torch.float32, torch.float64) and eager() and triton_works()
