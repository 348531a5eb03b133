"""The logits of an output layer without a gradient, in a kernel for CUDA."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.fast.outputs import on_cuda
from regard.nn.decoders.output import Output
from regard.nn.path import Path
from regard.parts import register


@register("path", "logits-cuda")
class LogitsOnCUDA(Path):
    """The logits of few rows over many words in a kernel for CUDA, without a gradient."""

    serves = "output.logits"
    devices = ("cuda",)
    rank = 20

    def takes(self, output: Output, rows: Tensor) -> bool:
        return rows.dtype == torch.float32 and on_cuda(rows, output.weight)

    def why_not(self, output: Output, rows: Tensor) -> str:
        return "" if rows.dtype == torch.float32 else "The numbers are not single precision."

    def run(self, output: Output, rows: Tensor) -> Tensor | None:
        from regard.fast.cuda.product import multiply, serves

        flat = rows.flatten(0, -2)
        logits = flat.new_empty(len(flat), len(output.weight))
        if not serves(flat, logits):
            return None
        multiply(flat, output.weight.t(), logits, bias=output.bias)
        return logits.view(*rows.shape[:-1], -1)
