"""A function of tensors and its gradient on CUDA, both recorded as graphs for each shape of the inputs.

The equivalent of `replay` for training: one launch replays the forward pass and one the backward pass. Only
one recording of a pool at a time may have a pending backward pass (`gradient_recording`). A call that finds
it pending uses the next pool. If all pools are in use, the function runs without a graph.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from regard.fast.recording.gradient_recording import (
    Found,
    Function,
    GradientRecording,
    RecordingPool,
    RecordingRequest,
    replay,
)
from regard.fast.recording.recordable import state_of
from regard.fast.recording.replay import autocast_dtype
from regard.private import eager

POOLS = 4
"""Maximum number of pending backward passes of one owner, each with its own memory."""


def replayed(owner: nn.Module, function: Function, *inputs: Tensor, key: Hashable = None) -> Found:
    """function(*inputs), which uses the owner's weights; recorded on CUDA if gradients are enabled.

    The function may depend only on its inputs, the weights, the owner's modules and their plain attributes, and
    the key.
    """
    if not inputs[0].is_cuda or not torch.is_grad_enabled() or torch.is_inference_mode_enabled():
        return function(*inputs)
    if not eager() or torch.cuda.is_current_stream_capturing():
        return function(*inputs)
    state = state_of(owner)
    if state is None:
        return function(*inputs)
    replays = replays_of(owner)
    weights = replays.weights(owner)  # also finds the dropouts
    shares = tuple(module.p for module in replays.dropouts)
    asked = RecordingRequest(owner, function, inputs, weights, shares, autocast_dtype())
    return replays(asked, (key, state)) if asked.weights else function(*inputs)


class GradientReplays:
    """The recordings of one owner, on pools."""

    def __init__(self) -> None:
        self.pools: list[RecordingPool] = []
        self.dropouts: list[nn.Dropout] = []
        self._places: list[tuple[nn.Module, str, nn.Parameter]] = []

    def weights(self, owner: nn.Module) -> list[nn.Parameter]:
        """The trainable weights. Walking through all modules is slow, so their places are cached, and
        searched again only if a weight has been replaced."""
        if not self._places or any(
            module._parameters.get(name) is not one for module, name, one in self._places
        ):
            found = {one: (module, name) for module in owner.modules() for name, one in _own(module)}
            self._places = [(*place, one) for one, place in found.items()]
            self.dropouts = [module for module in owner.modules() if isinstance(module, nn.Dropout)]
        return [one for _, _, one in self._places if one.requires_grad]

    def __call__(self, asked: RecordingRequest, key: Hashable) -> Found:
        pool = self._free()
        known = None if pool is None else pool.recorded((key, asked.key), asked)
        if pool is None or known is None:
            return asked.function(*asked.inputs)
        return replay(pool, known, asked)

    @property
    def refused(self) -> list[str]:
        """Reasons why functions could not be recorded."""
        kept = [one for pool in self.pools for one in pool.recordings.known.values()]
        return [one for one in kept if isinstance(one, str)]

    @property
    def recordings(self) -> list[GradientRecording]:
        kept = [one for pool in self.pools for one in pool.recordings.known.values()]
        return [one for one in kept if isinstance(one, GradientRecording)]

    def _free(self) -> RecordingPool | None:
        for pool in self.pools:
            if pool.free:
                return pool
        if len(self.pools) == POOLS:
            return None
        self.pools.append(RecordingPool())
        return self.pools[-1]


def _own(module: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    return ((name, one) for name, one in module._parameters.items() if one is not None)


_OWNERS: WeakKeyDictionary[nn.Module, GradientReplays] = WeakKeyDictionary()


def replays_of(owner: nn.Module) -> GradientReplays:
    """The recordings of an owner."""
    return _OWNERS.setdefault(owner, GradientReplays())
