"""The kernels of `cached` for the CPU, which numba compiles."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.fast.layer_weights import Normalization

NONE = torch.empty(1, 0, 0, dtype=torch.int64)


class CPUKernels:
    """See `regard.fast.cached.Kernels`."""

    def normed(self, x: Tensor, norm: Normalization) -> Tensor:
        from regard.fast.cpu.cached import normed_rows
        from regard.structures.kernels.cpu.parallel import over_batch

        out = torch.empty_like(x)
        epsilon = x.numpy().dtype.type(norm.epsilon)
        over_batch(
            normed_rows,
            len(x),
            x.shape[1],
            x.numpy(),
            norm.gain.numpy(),
            norm.shift.numpy(),
            epsilon,
            out.numpy(),
        )
        return out

    def written(
        self,
        asked: Tensor,
        bias: Tensor,
        cache: Tensor,
        slots: Tensor | None,
        place: int,
        distance: Tensor,
        heads: int,
    ) -> Tensor:
        from regard.fast.cpu.cached import written_rows
        from regard.structures.kernels.cpu.parallel import over_batch

        rows, count, size = asked.shape[0], asked.shape[1], asked.shape[2] // 3
        out = asked.new_empty(rows, count, size)
        array = out.numpy()
        over_batch(
            written_rows, rows, count * (place + 1) * size // 4, asked.numpy(), bias.numpy(), cache.numpy(),
            (NONE if slots is None else slots.contiguous()).numpy(), place, distance.numpy(),
            array.dtype.type((size // heads) ** -0.5), heads, array,
        )  # fmt: skip
        return out.view(rows * count, size)

    def memory(
        self, asked: Tensor, bias: Tensor, memory: Tensor, mask: Tensor, heads: int, looks: bool
    ) -> tuple[Tensor, Tensor | None]:
        from regard.fast.cpu.cached import memory_rows
        from regard.structures.kernels.cpu.parallel import over_batch

        (rows, count, size), positions = asked.shape, memory.shape[1]
        out = asked.new_empty(rows, count, size)
        seen = asked.new_empty(rows, count, positions if looks else 0)
        array = out.numpy()
        kind = array.dtype.type
        over_batch(
            memory_rows, rows, count * positions * size // 4, asked.numpy(), bias.numpy(), memory.numpy(),
            mask.numpy(), kind((size // heads) ** -0.5), heads, kind(torch.finfo(out.dtype).min), array, seen.numpy(),
        )  # fmt: skip
        return out.view(rows * count, size), seen if looks else None

    def added(
        self, x: Tensor, found: Tensor, bias: Tensor, norm: Normalization, after: bool
    ) -> tuple[Tensor, Tensor]:
        from regard.fast.cpu.cached import added_rows
        from regard.structures.kernels.cpu.parallel import over_batch

        out = torch.empty_like(x)
        epsilon = x.numpy().dtype.type(norm.epsilon)
        over_batch(
            added_rows, len(x), x.shape[1], x.numpy(), found.numpy(), bias.numpy(), norm.gain.numpy(),
            norm.shift.numpy(), epsilon, after, out.numpy(),
        )  # fmt: skip
        return x, out

    def rectified(self, hidden: Tensor, bias: Tensor) -> Tensor:
        from regard.fast.cpu.cached import rectified_rows
        from regard.structures.kernels.cpu.parallel import over_batch

        over_batch(rectified_rows, len(hidden), hidden.shape[1] // 2, hidden.numpy(), bias.numpy())
        return hidden


CPU = CPUKernels()
