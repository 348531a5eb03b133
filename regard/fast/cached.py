"""Steps of a Transformer decoder, with the keys and values of the tokens in memory that grows by blocks.

Between two products of a layer there is one kernel (`Kernels`): attention with its bias, the sum with its
normalization, or the rectifier. Queries, keys and values come from one product. A step writes its keys and values
into the state that it continues, if the search said that nobody else will (`in_a_line`), and into a copy otherwise.
A hypothesis that continues another one does not copy it: `slots` says where its tokens are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from regard.fast.layer_weights import Normalization, norm_of, weights_of
from regard.nn.memory import Memory
from regard.nn.stepping import Step

BLOCK = 16
"""Number of positions by which the memory of a search grows."""
PLACES = 64
"""Number of position vectors that are computed at once."""


class Kernels(Protocol):
    """What is computed between two products; rows are (B K, …)."""

    def normed(self, x: Tensor, norm: Normalization) -> Tensor: ...

    def written(
        self,
        asked: Tensor,
        bias: Tensor,
        cache: Tensor,
        slots: Tensor | None,
        place: int,
        distance: Tensor,
        heads: int,
    ) -> Tensor: ...

    def memory(
        self, asked: Tensor, bias: Tensor, memory: Tensor, mask: Tensor, heads: int, looks: bool
    ) -> tuple[Tensor, Tensor | None]: ...

    def added(
        self, x: Tensor, found: Tensor, bias: Tensor, norm: Normalization, after: bool
    ) -> tuple[Tensor, Tensor]: ...

    def rectified(self, hidden: Tensor, bias: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class CachedState:
    """K hypotheses about each of B sources.

    memory      for each layer the keys and values of all memories, (B, S, 2 D)
    mask        (B, S) True at the positions that exist
    written     for each layer the keys and values of the tokens, (B, T, K', 2 D), T ≥ position
    slots       (B, K, position) where the tokens of a hypothesis are; None: all in its own slot
    places      the first vectors of positions
    line        whether a step may write into this state
    """

    memory: tuple[Tensor, ...]
    mask: Tensor
    written: tuple[Tensor, ...]
    slots: Tensor | None
    places: Tensor
    position: int = 0
    line: bool = False

    def in_a_line(self) -> CachedState:
        return replace(self, line=True)

    def reorder(self, parents: Tensor) -> CachedState:
        """Hypothesis k of the new state continues hypothesis parents[b, k] of this one; (B, K') int64."""
        if self.position == 0:
            return self
        index = parents.unsqueeze(-1).expand(-1, -1, self.position)
        return replace(self, slots=index if self.slots is None else self.slots.gather(1, index))

    def select(self, rows: Tensor) -> CachedState:
        """The state of some of the sources, (B') int64."""
        return replace(
            self,
            memory=tuple(one.index_select(0, rows) for one in self.memory),
            mask=self.mask.index_select(0, rows),
            written=tuple(one.index_select(0, rows) for one in self.written),
            slots=None if self.slots is None else self.slots.index_select(0, rows),
        )

    def with_room(self, count: int) -> CachedState:
        """A state whose memory takes another token of `count` hypotheses."""
        _, room, wide, _ = self.written[0].shape
        if self.line and self.position < room and count <= wide:
            return self
        steps = self.position + (BLOCK if self.line else 1)
        return replace(self, written=tuple(self._grown(one, steps, max(wide, count)) for one in self.written))

    def _grown(self, written: Tensor, steps: int, wide: int) -> Tensor:
        rows, _, before, width = written.shape
        grown = written.new_empty(rows, steps, wide, width)
        grown[:, : self.position, :before] = written[:, : self.position]
        return grown

    def step(self, decoder: Any, tokens: Tensor, memories: Mapping[str, Memory]) -> Step:
        return step(kernels_of(tokens.device), decoder, tokens, self, memories)


def start(decoder: Any, memories: Mapping[str, Memory]) -> CachedState:
    """The state before the first token."""
    layers, mask = weights_of(decoder), torch.cat([memories[name].mask for name in decoder.names], 1)
    kept = []
    for layer in layers:
        parts = [
            nn.functional.linear(memories[name].values, *product) for name, product in layer.memory.items()
        ]
        kept.append(parts[0].contiguous() if len(parts) == 1 else torch.cat(parts, 1))
    nothing = tuple(one.new_empty(len(mask), 0, 1, one.shape[2]) for one in kept)
    return CachedState(tuple(kept), mask.contiguous(), nothing, None, _places(decoder, PLACES, mask.device))


def _places(decoder: Any, count: int, device: torch.device) -> Tensor:
    places: Tensor = decoder.positions(torch.arange(count, device=device))
    return places.to(decoder.embedding.weight.dtype)


def step(
    kernels: Kernels, decoder: Any, tokens: Tensor, state: CachedState, memories: Mapping[str, Memory]
) -> Step:
    """`TransformerDecoder.step` for a supported decoder."""
    place, heads = state.position, decoder.layers[0].itself.heads
    if place >= len(state.places):
        state = replace(state, places=_places(decoder, 2 * len(state.places), tokens.device))
    state = state.with_room(tokens.shape[1])
    x = nn.functional.embedding(tokens.reshape(-1), decoder.embedding.weight) * decoder.scale
    x = (x if decoder.widen is None else decoder.widen(x)) + state.places[place]
    after, looks = decoder.norm is None, None
    layers = weights_of(decoder, known=True)
    entered = x if after else kernels.normed(x, norm_of(decoder.layers[0].first.norm))
    for number, layer in enumerate(layers, 1):
        asked = entered @ layer.itself.weight.t()
        read = kernels.written(
            asked.view(*tokens.shape, -1), layer.itself.bias, state.written[number - 1], state.slots, place,
            layer.distance, heads,
        )  # fmt: skip
        x, entered = kernels.added(x, read @ layer.told.weight.t(), layer.told.bias, layer.norms[0], after)
        asked = (entered @ layer.over.weight.t()).view(*tokens.shape, -1)
        last = number == len(layers)
        read, looks = kernels.memory(
            asked, layer.over.bias, state.memory[number - 1], state.mask, heads, last
        )
        x, entered = kernels.added(x, read @ layer.read.weight.t(), layer.read.bias, layer.norms[1], after)
        hidden = kernels.rectified(entered @ layer.into.weight.t(), layer.into.bias)
        x, entered = kernels.added(x, hidden @ layer.out.weight.t(), layer.out.bias, layer.norms[2], after)
    assert looks is not None
    slots = state.slots
    if slots is not None:
        own = torch.arange(tokens.shape[1], device=tokens.device).expand(len(tokens), -1).unsqueeze(-1)
        slots = torch.cat([slots, own], 2)
    widths = [memories[name].mask.shape[1] for name in decoder.names]
    return Step(
        decoder.output(entered.view(*tokens.shape, -1)),
        replace(state, slots=slots, position=place + 1),
        dict(zip(decoder.names, looks.split(widths, -1), strict=True)),
    )


def kernels_of(device: torch.device) -> Kernels:
    """Those of a type of device."""
    if device.type == "cuda":
        from regard.fast.cuda.cached import CUDA

        return CUDA
    from regard.fast.cached_cpu import CPU

    return CPU
