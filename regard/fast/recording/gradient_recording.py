"""A function of tensors and its gradient on CUDA, both recorded as graphs for inputs of one shape.

All recordings of a pool share the memory in which the forward pass leaves its values for the backward pass.
The memory may be used again only after the backward pass has run or has become impossible, and after the
gradients of the weights, which are not copied, have been freed. `replayed_gradient` chooses the pool.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.fast.recording.buffers import Buffers, free_shared, using_buffers, workspaces_of
from regard.fast.recording.replay import Recordings, on_the_side, recording
from regard.private import apply, copy_all, lent, unflattened
from regard.structures.kernels.availability import once

KEPT = 256
"""Maximum number of recordings of one pool."""
OFTEN = 2
"""Number of calls with the same shapes before they are recorded."""
ALIGNED = 256

Found = tuple[Tensor, ...]
Function = Callable[..., Found]


@dataclass(frozen=True)
class RecordingRequest:
    """A requested computation: a function of the inputs that uses the owner's weights.

    shares   the dropout probabilities of the owner
    narrow   the dtype of autocast, if it is on
    """

    owner: nn.Module
    function: Function
    inputs: Sequence[Tensor]
    weights: Sequence[nn.Parameter]
    shares: tuple[float, ...]
    narrow: torch.dtype | None

    @property
    def key(self) -> Hashable:
        """Requests with equal keys can share a recording."""
        return (
            self.owner.training,
            tuple((tensor.shape, tensor.dtype, tensor.requires_grad) for tensor in self.inputs),
            tuple(weight.data_ptr() for weight in self.weights),
            self.shares,
            torch.get_float32_matmul_precision(),
            self.narrow,
        )


class RecordingPool:
    """Recordings that share their memory: only one of them at a time may have a pending backward pass."""

    def __init__(self) -> None:
        self.recordings: Recordings[GradientRecording] = Recordings(OFTEN, KEPT)
        self.graph_pool: Any = None
        self.side: torch.cuda.Stream | None = None
        self.buffers: Buffers = {}
        self.staging: Tensor | None = None
        self.holder: weakref.ref[PendingGradient] | None = None
        self.returned: Callable[[], bool] = lambda: True

    @property
    def free(self) -> bool:
        """Whether no backward pass is pending and the gradients of the last one are freed."""
        pending = None if self.holder is None else self.holder()
        return (pending is None or pending.used) and self.returned()

    def lend(self, memory: Sequence[Tensor]) -> list[Tensor] | None:
        """Tensors over memory that is not written until they and all views are freed; None if impossible."""
        found = [one for one in map(lent, memory) if one is not None]
        if len(found) < len(memory):
            return None
        questions = [gone for _, gone in found]  # without the pieces, which would then never be freed
        self.returned = lambda: all(gone() for gone in questions)
        return [piece for piece, _ in found]

    def recorded(self, key: Hashable, asked: RecordingRequest) -> GradientRecording | None:
        """The recording for a key, or None."""
        return self.recordings.get(key, lambda: self._record(asked))

    def _record(self, asked: RecordingRequest) -> GradientRecording | str:
        if self.graph_pool is None:
            # one stream for all, because a pool reuses memory only on the stream it was used on
            self.graph_pool, self.side = torch.cuda.graph_pool_handle(), torch.cuda.Stream()
        try:
            # autocast must not cache converted weights beyond a recording
            with (
                using_buffers(self.buffers),
                torch.autocast("cuda", asked.narrow, enabled=asked.narrow is not None, cache_enabled=False),
                substituted(asked.owner, asked.weights) as others,
            ):
                found = GradientRecording(asked.function, asked.inputs, others, self)
        except RuntimeError as error:  # the function cannot be recorded
            torch.cuda.synchronize()
            self.graph_pool = None  # it may still count as in use
            return str(error)
        free_shared(self.buffers)
        return found

    def places(self, like: Sequence[Tensor]) -> list[Tensor]:
        """Tensors like these in `staging`, a buffer that all recordings share. If it is too small, a larger
        one replaces it; earlier recordings keep the old one."""
        sizes = [-(-tensor.numel() * tensor.element_size() // ALIGNED) * ALIGNED for tensor in like]
        needed = max(sum(sizes), 1)
        if self.staging is None or len(self.staging) < needed:
            self.staging = torch.zeros(
                1 << (needed - 1).bit_length(), dtype=torch.uint8, device=like[0].device
            )
        parts = self.staging[: sum(sizes)].split(sizes)
        return [
            # `.data`, because autograd would count a copy into one as a change of all
            part[: tensor.numel() * tensor.element_size()].view(tensor.dtype).view(tensor.shape).data
            for part, tensor in zip(parts, like, strict=True)
        ]


@contextmanager
def substituted(owner: nn.Module, weights: Sequence[nn.Parameter]) -> Iterator[list[nn.Parameter]]:
    """Replace the weights by other parameters that share their memory. A gradient that waits on another
    stream may hold autograd nodes of the weights, which a recording must not touch."""
    others = {id(weight): nn.Parameter(weight.detach()) for weight in weights}
    places = [
        (module, name, weight)
        for module in owner.modules()
        for name, weight in module.named_parameters(recurse=False, remove_duplicate=False)
        if id(weight) in others
    ]
    try:
        for module, name, weight in places:
            setattr(module, name, others[id(weight)])
        yield list(others.values())
    finally:
        for module, name, weight in places:
            setattr(module, name, weight)


class GradientRecording:
    """Forward and backward pass of a function, for inputs of one shape. The staging buffer of the pool holds the
    inputs, the results, the gradients of both, and in `flat` the gradients of the weights. Gradients that a
    layer has written to its buffer stay there."""

    def __init__(
        self, function: Function, inputs: Sequence[Tensor], weights: Sequence[Tensor], pool: RecordingPool
    ) -> None:
        self.forth, self.back = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with on_the_side(pool.side), torch.enable_grad():
            found, left = self._try(function, inputs, weights, pool)
            self.learned = [tensor.requires_grad for tensor in found]
            self.left = [place for place, stays in enumerate(left) if stays]
            others = [weight for weight, stays in zip(weights, left, strict=True) if not stays]
            # each is padded to a multiple of 64 numbers, so that the next is aligned like a separate
            # allocation
            self.like = [part for weight in others for part in (weight.detach(), _rest(weight))]
            self._allocate(inputs, found, weights, pool)
            del found
            with recording(self.forth, pool.graph_pool):
                made = function(*self.inputs)
                copy_all(self.found, [tensor.detach() for tensor in made])
            with recording(self.back, pool.graph_pool):
                self._go_back(made, weights)
        self.workspaces = workspaces_of(pool.buffers)
        storages = {one.untyped_storage().data_ptr() for one in self.in_buffers}
        flats = {workspace.buffer.flat.data_ptr(): workspace.buffer.flat for workspace in self.workspaces}
        self.buffers = [flat for place, flat in flats.items() if place in storages]

    def _try(
        self, function: Function, inputs: Sequence[Tensor], weights: Sequence[Tensor], pool: RecordingPool
    ) -> tuple[Found, list[bool]]:
        """Run once without recording, so that all persistent memory is allocated. Returns the results, and
        which gradients of weights lie in a buffer."""
        given = [tensor.detach().requires_grad_(tensor.requires_grad) for tensor in inputs]
        with torch.random.fork_rng(devices=[weights[0].device]):
            found = function(*given)
            learned = [tensor for tensor in found if tensor.requires_grad]
            wanted = [*(tensor for tensor in given if tensor.requires_grad), *weights]
            ones = [torch.ones_like(tensor) for tensor in learned]
            gradients = torch.autograd.grad(learned, wanted, ones, allow_unused=True)[-len(weights) :]
        buffers = {
            workspace.buffer.flat.untyped_storage().data_ptr() for workspace in workspaces_of(pool.buffers)
        }
        return found, [one is not None and one.untyped_storage().data_ptr() in buffers for one in gradients]

    def _allocate(
        self, inputs: Sequence[Tensor], found: Found, weights: Sequence[Tensor], pool: RecordingPool
    ) -> None:
        learned = [tensor for tensor in found if tensor.requires_grad]
        wanted = [tensor for tensor in inputs if tensor.requires_grad]
        flat = torch.empty(sum(one.numel() for one in self.like), device="meta", dtype=weights[0].dtype)
        places = iter(pool.places([*inputs, *found, *learned, *wanted, flat]))
        self.inputs = [next(places).copy_(tensor).requires_grad_(tensor.requires_grad) for tensor in inputs]
        self.found = [next(places) for _ in found]
        self.d_found = [next(places).zero_() for _ in learned]
        self.d_inputs = [next(places) if tensor.requires_grad else None for tensor in inputs]
        self.flat = next(places)

    def _go_back(self, made: Found, weights: Sequence[Tensor]) -> None:
        """Run the backward pass. Gradients of unused weights and inputs become 0: their memory is shared."""
        wanted = [tensor for tensor in self.inputs if tensor.requires_grad]
        learned = [tensor for tensor in made if tensor.requires_grad]
        gradients = torch.autograd.grad(learned, [*wanted, *weights], self.d_found, allow_unused=True)
        of_inputs = [place for place in self.d_inputs if place is not None]
        of_weights = list(gradients[len(of_inputs) :])
        self.in_buffers = [of_weights[number].detach() for number in self.left]
        for number in reversed(self.left):
            del of_weights[number]
        places = [*of_inputs, *unflattened(self.flat, self.like)[::2]]
        pairs = list(zip(places, [*gradients[: len(of_inputs)], *of_weights], strict=True))
        copy_all(
            [place for place, one in pairs if one is not None], [one for _, one in pairs if one is not None]
        )
        for place, one in pairs:
            if one is None:
                place.zero_()

    def weight_gradients(self, pool: RecordingPool) -> list[Tensor]:
        """The gradients of the weights, without a copy if their memory can be lent."""
        in_buffers, pieces = self.in_buffers, pool.lend([self.flat, *self.buffers])
        if pieces is None:
            flat, in_buffers = self.flat.clone(), [one.clone() for one in in_buffers]
        else:
            flat, bases = pieces[0], {piece.data_ptr(): piece for piece in pieces[1:]}
            in_buffers = [
                bases[one.untyped_storage().data_ptr()].as_strided(
                    one.shape, one.stride(), one.storage_offset()
                )
                for one in in_buffers
            ]
        found = list(unflattened(flat, self.like)[::2])
        for place, one in zip(self.left, in_buffers, strict=True):
            found.insert(place, one)
        return found


def _rest(weight: Tensor) -> Tensor:
    return weight.new_empty(-weight.numel() % 64)


class PendingGradient:
    """Alive while the backward pass may still run; `used` once it has run."""

    used = False


def replay(pool: RecordingPool, recording: GradientRecording, asked: RecordingRequest) -> Found:
    """Compute a request by replaying a recording."""
    found: Found = apply(_Replayed, pool, recording, *asked.inputs, *asked.weights)
    return found


class _Replayed(torch.autograd.Function):
    """The inputs and the weights are arguments, so that both get their gradients."""

    @staticmethod
    def forward(ctx: Any, pool: RecordingPool, recording: GradientRecording, *tensors: Tensor) -> Found:
        copy_all([tensor.detach() for tensor in recording.inputs], tensors[: len(recording.inputs)])
        recording.forth.replay()
        ctx.pool, ctx.recording, ctx.pending = pool, recording, PendingGradient()
        pool.holder = weakref.ref(ctx.pending)
        found = tuple(tensor.clone() for tensor in recording.found)
        fixed = [tensor for tensor, learns in zip(found, recording.learned, strict=True) if not learns]
        ctx.mark_non_differentiable(*fixed)
        return found

    @staticmethod
    @once
    def backward(ctx: Any, *d_found: Tensor) -> Any:
        recording: GradientRecording = ctx.recording
        if ctx.pending.used:
            raise RuntimeError("backward can run only once through a recorded function.")
        given = [gradient for gradient, learns in zip(d_found, recording.learned, strict=True) if learns]
        copy_all(recording.d_found, given)
        recording.back.replay()
        ctx.pending.used = True
        of_inputs = [None if gradient is None else gradient.clone() for gradient in recording.d_inputs]
        return None, None, *of_inputs, *recording.weight_gradients(ctx.pool)
