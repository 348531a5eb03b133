"""Reach: whether the kernels for the processor can take some tensors."""

from __future__ import annotations

import torch
from torch import Tensor


def within_reach(*tensors: Tensor) -> bool:
    """All on the processor, of one precision (single or double), and neither autocast nor a compiler at work."""
    kinds = {(tensor.device.type, tensor.dtype) for tensor in tensors}
    return (
        kinds in ({("cpu", torch.float32)}, {("cpu", torch.float64)})
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
    )
