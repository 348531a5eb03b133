"""A function of tensors and its gradient on CUDA, both recorded as graphs for each shape of what they are given.

As `replay`, for what is trained: layers that have no kernels of their own are launched at once, forth and back. What
the way forth leaves for the way back lies in the recording: it may not be used again before its way back was taken or
given up. Where one is in use, the function simply runs.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from regard.kernels.replay import on_the_side, recording
from regard.private import copy_all, transforms_active

KEPT = 32
"""Recordings of one owner; the least recently used one is forgotten."""

Function = Callable[..., Tensor]


def replayed(owner: nn.Module, function: Function, *inputs: Tensor) -> Tensor:
    """function(*inputs), which uses the owner's weights: recorded where its gradient is wanted on CUDA.

    The function must depend on nothing but its inputs, the weights, and whether the owner is in training.
    """
    if not inputs[0].is_cuda or not torch.is_grad_enabled() or torch.is_inference_mode_enabled():
        return function(*inputs)
    if torch.compiler.is_compiling() or transforms_active() or torch.cuda.is_current_stream_capturing():
        return function(*inputs)
    weights = [weight for weight in owner.parameters() if weight.requires_grad]
    if not weights:
        return function(*inputs)
    return _OWNERS.setdefault(owner, GradientReplays())(owner.training, function, inputs, weights)


class GradientReplays:
    """The recordings of one owner, whose memory they share."""

    def __init__(self) -> None:
        self.known: OrderedDict[Hashable, GradientRecording | bool] = OrderedDict()
        self.pool: Any = None

    def __call__(
        self, key: Hashable, function: Function, inputs: Sequence[Tensor], weights: Sequence[Tensor]
    ) -> Tensor:
        narrow = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else None
        key = (
            key,
            tuple((tensor.shape, tensor.dtype, tensor.requires_grad) for tensor in inputs),
            tuple(weight.data_ptr() for weight in weights),
            torch.get_float32_matmul_precision(),
            narrow,
        )
        known = self.known.get(key)
        if known is None:
            self._keep(key, True)
            return function(*inputs)
        self.known.move_to_end(key)
        if known is True:
            known = self._record(function, inputs, weights, narrow)
            self._keep(key, known)
        if isinstance(known, bool) or not known.free:
            return function(*inputs)
        found: Tensor = _Replayed.apply(known, *inputs, *weights)
        return found

    def _record(
        self,
        function: Function,
        inputs: Sequence[Tensor],
        weights: Sequence[Tensor],
        narrow: torch.dtype | None,
    ) -> GradientRecording | bool:
        if self.pool is None:
            self.pool = torch.cuda.graph_pool_handle()
        try:
            # autocast must not keep weights it has narrowed beyond a recording
            with torch.autocast("cuda", narrow, enabled=narrow is not None, cache_enabled=False):
                return GradientRecording(function, inputs, weights, self.pool)
        except RuntimeError:  # something in it cannot be recorded
            torch.cuda.synchronize()
            return False

    def _keep(self, key: Hashable, value: GradientRecording | bool) -> None:
        self.known[key] = value
        while len(self.known) > KEPT:
            self.known.popitem(last=False)


_OWNERS: WeakKeyDictionary[nn.Module, GradientReplays] = WeakKeyDictionary()


class GradientRecording:
    """Both ways of a function, for inputs of one shape; the gradients of the weights lie side by side in `flat`."""

    def __init__(
        self, function: Function, inputs: Sequence[Tensor], weights: Sequence[Tensor], pool: Any
    ) -> None:
        self.inputs = [tensor.detach().clone().requires_grad_(tensor.requires_grad) for tensor in inputs]
        self.shapes = [weight.shape for weight in weights]
        self.sizes = [weight.numel() for weight in weights]
        self.flat = torch.zeros(sum(self.sizes), device=weights[0].device, dtype=weights[0].dtype)
        self.holder: weakref.ref[PendingGradient] | None = None
        self.forth, self.back = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with on_the_side(), torch.enable_grad():
            with recording(self.forth, pool):
                found = function(*self.inputs)
            self.d_found = torch.zeros_like(found)
            with recording(self.back, pool):
                self.d_inputs = self._go_back(found, weights)
        self.found = found.detach()

    def _go_back(self, found: Tensor, weights: Sequence[Tensor]) -> list[Tensor | None]:
        wanted = [tensor for tensor in self.inputs if tensor.requires_grad]
        gradients = torch.autograd.grad(found, [*wanted, *weights], self.d_found, allow_unused=True)
        of_weights = zip(self.weight_gradients(self.flat), gradients[len(wanted) :], strict=True)
        used = [(place, gradient) for place, gradient in of_weights if gradient is not None]
        copy_all([place for place, _ in used], [gradient for _, gradient in used])
        inputs = iter(gradients)
        return [next(inputs) if tensor.requires_grad else None for tensor in self.inputs]

    def weight_gradients(self, flat: Tensor) -> list[Tensor]:
        return [part.view(shape) for part, shape in zip(flat.split(self.sizes), self.shapes, strict=True)]

    @property
    def free(self) -> bool:
        pending = None if self.holder is None else self.holder()
        return pending is None or pending.used


class PendingGradient:
    """Alive while somebody may still take the way back; `used` once somebody has."""

    used = False


class _Replayed(torch.autograd.Function):
    """The inputs and the weights are arguments, so that both get their gradients."""

    @staticmethod
    def forward(ctx: Any, recording: GradientRecording, *tensors: Tensor) -> Tensor:
        copy_all([tensor.detach() for tensor in recording.inputs], tensors[: len(recording.inputs)])
        recording.forth.replay()
        ctx.recording, ctx.pending = recording, PendingGradient()
        recording.holder = weakref.ref(ctx.pending)
        return recording.found.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_found: Tensor) -> Any:
        recording: GradientRecording = ctx.recording
        if ctx.pending.used:
            raise RuntimeError("The way back of a recorded function can be taken once only.")
        recording.d_found.copy_(d_found)
        recording.back.replay()
        ctx.pending.used = True
        of_inputs = [None if gradient is None else gradient.clone() for gradient in recording.d_inputs]
        return None, *of_inputs, *recording.weight_gradients(recording.flat.clone())
