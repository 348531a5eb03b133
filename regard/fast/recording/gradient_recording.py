"""A function of tensors and its gradient on CUDA, both recorded as graphs for inputs of one shape.

All recordings of a shelf share the memory in which the forward pass leaves its values for the backward pass.
The memory may be used again only after the backward pass has run or has become impossible, and after the
gradients of the weights, which are not copied, have been freed. `replayed_gradient` chooses the shelf.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.fast.recording.grounds import Grounds, apart, furnished, vacate
from regard.fast.recording.replay import Recordings, on_the_side, recording
from regard.private import apply, copy_all, lent, unflattened
from regard.structures.kernels.batching import once

KEPT = 256
"""Maximum number of recordings of one shelf."""
OFTEN = 2
"""Number of calls with the same shapes before they are recorded."""
ALIGNED = 256

Found = tuple[Tensor, ...]
Function = Callable[..., Found]


@dataclass(frozen=True)
class Asked:
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


class Shelf:
    """Recordings that share their memory: only one of them at a time may have a pending backward pass."""

    def __init__(self) -> None:
        self.recordings: Recordings[GradientRecording] = Recordings(OFTEN, KEPT)
        self.pool: Any = None
        self.side: torch.cuda.Stream | None = None
        self.grounds: Grounds = {}
        self.desk: Tensor | None = None
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

    def recorded(self, key: Hashable, asked: Asked) -> GradientRecording | None:
        """The recording for a key, or None."""
        return self.recordings.get(key, lambda: self._record(asked))

    def _record(self, asked: Asked) -> GradientRecording | str:
        if self.pool is None:
            # one stream for all, because a pool reuses memory only on the stream it was used on
            self.pool, self.side = torch.cuda.graph_pool_handle(), torch.cuda.Stream()
        try:
            # autocast must not cache converted weights beyond a recording
            with (
                apart(self.grounds),
                torch.autocast("cuda", asked.narrow, enabled=asked.narrow is not None, cache_enabled=False),
                stand_ins(asked.owner, asked.weights) as others,
            ):
                found = GradientRecording(asked.function, asked.inputs, others, self)
        except RuntimeError as error:  # the function cannot be recorded
            torch.cuda.synchronize()
            self.pool = None  # it may still count as in use
            return str(error)
        vacate(self.grounds)
        return found

    def places(self, like: Sequence[Tensor]) -> list[Tensor]:
        """Tensors like these on the desk, a buffer that all recordings share. If it is too small, a larger
        one replaces it; earlier recordings keep the old one."""
        sizes = [-(-tensor.numel() * tensor.element_size() // ALIGNED) * ALIGNED for tensor in like]
        needed = max(sum(sizes), 1)
        if self.desk is None or len(self.desk) < needed:
            self.desk = torch.zeros(1 << (needed - 1).bit_length(), dtype=torch.uint8, device=like[0].device)
        parts = self.desk[: sum(sizes)].split(sizes)
        return [
            # `.data`, because autograd would count a copy into one as a change of all
            part[: tensor.numel() * tensor.element_size()].view(tensor.dtype).view(tensor.shape).data
            for part, tensor in zip(parts, like, strict=True)
        ]


@contextmanager
def stand_ins(owner: nn.Module, weights: Sequence[nn.Parameter]) -> Iterator[list[nn.Parameter]]:
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
    """Forward and backward pass of a function, for inputs of one shape. The desk of the shelf holds the
    inputs, the results, the gradients of both, and in `flat` the gradients of the weights. Gradients that a
    layer has written to its ground stay there."""

    def __init__(
        self, function: Function, inputs: Sequence[Tensor], weights: Sequence[Tensor], shelf: Shelf
    ) -> None:
        self.forth, self.back = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with on_the_side(shelf.side), torch.enable_grad():
            found, left = self._try(function, inputs, weights, shelf)
            self.learned = [tensor.requires_grad for tensor in found]
            self.left = [place for place, stays in enumerate(left) if stays]
            others = [weight for weight, stays in zip(weights, left, strict=True) if not stays]
            # each is padded to a multiple of 64 numbers, so that the next is aligned like a separate
            # allocation
            self.like = [part for weight in others for part in (weight.detach(), _rest(weight))]
            self._furnish(inputs, found, weights, shelf)
            del found
            with recording(self.forth, shelf.pool):
                made = function(*self.inputs)
                copy_all(self.found, [tensor.detach() for tensor in made])
            with recording(self.back, shelf.pool):
                self._go_back(made, weights)
        self.rooms = furnished(shelf.grounds)
        storages = {one.untyped_storage().data_ptr() for one in self.on_grounds}
        flats = {room.ground.flat.data_ptr(): room.ground.flat for room in self.rooms}
        self.grounds = [flat for place, flat in flats.items() if place in storages]

    def _try(
        self, function: Function, inputs: Sequence[Tensor], weights: Sequence[Tensor], shelf: Shelf
    ) -> tuple[Found, list[bool]]:
        """Run once without recording, so that all persistent memory is allocated. Returns the results, and
        which gradients of weights lie on a ground."""
        given = [tensor.detach().requires_grad_(tensor.requires_grad) for tensor in inputs]
        with torch.random.fork_rng(devices=[weights[0].device]):
            found = function(*given)
            learned = [tensor for tensor in found if tensor.requires_grad]
            wanted = [*(tensor for tensor in given if tensor.requires_grad), *weights]
            ones = [torch.ones_like(tensor) for tensor in learned]
            gradients = torch.autograd.grad(learned, wanted, ones, allow_unused=True)[-len(weights) :]
        grounds = {room.ground.flat.untyped_storage().data_ptr() for room in furnished(shelf.grounds)}
        return found, [one is not None and one.untyped_storage().data_ptr() in grounds for one in gradients]

    def _furnish(
        self, inputs: Sequence[Tensor], found: Found, weights: Sequence[Tensor], shelf: Shelf
    ) -> None:
        learned = [tensor for tensor in found if tensor.requires_grad]
        wanted = [tensor for tensor in inputs if tensor.requires_grad]
        flat = torch.empty(sum(one.numel() for one in self.like), device="meta", dtype=weights[0].dtype)
        places = iter(shelf.places([*inputs, *found, *learned, *wanted, flat]))
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
        self.on_grounds = [of_weights[number].detach() for number in self.left]
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

    def weight_gradients(self, shelf: Shelf) -> list[Tensor]:
        """The gradients of the weights, without a copy if their memory can be lent."""
        on_grounds, pieces = self.on_grounds, shelf.lend([self.flat, *self.grounds])
        if pieces is None:
            flat, on_grounds = self.flat.clone(), [one.clone() for one in on_grounds]
        else:
            flat, bases = pieces[0], {piece.data_ptr(): piece for piece in pieces[1:]}
            on_grounds = [
                bases[one.untyped_storage().data_ptr()].as_strided(
                    one.shape, one.stride(), one.storage_offset()
                )
                for one in on_grounds
            ]
        found = list(unflattened(flat, self.like)[::2])
        for place, one in zip(self.left, on_grounds, strict=True):
            found.insert(place, one)
        return found


def _rest(weight: Tensor) -> Tensor:
    return weight.new_empty(-weight.numel() % 64)


class PendingGradient:
    """Alive while the backward pass may still run; `used` once it has run."""

    used = False


def replay(shelf: Shelf, recording: GradientRecording, asked: Asked) -> Found:
    """Compute a request by replaying a recording."""
    found: Found = apply(_Replayed, shelf, recording, *asked.inputs, *asked.weights)
    return found


class _Replayed(torch.autograd.Function):
    """The inputs and the weights are arguments, so that both get their gradients."""

    @staticmethod
    def forward(ctx: Any, shelf: Shelf, recording: GradientRecording, *tensors: Tensor) -> Found:
        copy_all([tensor.detach() for tensor in recording.inputs], tensors[: len(recording.inputs)])
        recording.forth.replay()
        ctx.shelf, ctx.recording, ctx.pending = shelf, recording, PendingGradient()
        shelf.holder = weakref.ref(ctx.pending)
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
        return None, None, *of_inputs, *recording.weight_gradients(ctx.shelf)
