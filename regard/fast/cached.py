"""Steps of a Transformer decoder, with the keys and values of the tokens in memory that grows by blocks.

Queries, keys and values come from one product. A step writes its keys and values into the state that it continues, if
the search said that nobody else will (`in_a_line`), and into a copy otherwise. A hypothesis that continues another one
does not copy it: `slots` says where its tokens are. What is between the words' vectors and the logits is computed by
`cached_cpu` or `cached_cuda`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from regard.fast.cached_cpu import advance_on_cpu, known_layers
from regard.fast.kept import meanwhile
from regard.fast.layer_weights import weights_of
from regard.nn.memory import Memory
from regard.nn.stepping import Step

BLOCK = 16
"""Number of positions by which the memory of a search grows."""
PLACES = 64
"""Number of position vectors that are computed at once."""


@dataclass(frozen=True)
class CachedState:
    """K hypotheses about each of B sources.

    memory      (L, B, S, 2 D) for each layer the keys and values of all memories
    mask        (B, S) True at the positions that exist
    written     (L, B, T, K', 2 D) for each layer the keys and values of the tokens, T ≥ position
    slots       (B, K, position) where the tokens of a hypothesis are; None: all in its own slot
    places      the first vectors of positions
    line        whether a step may write into this state
    precision   of the products of a step on the CPU: fp32, the precision of the weights, or int8
    """

    memory: Tensor
    mask: Tensor
    written: Tensor
    slots: Tensor | None
    places: Tensor
    position: int = 0
    line: bool = False
    precision: str = "fp32"

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
            memory=self.memory.index_select(1, rows),
            mask=self.mask.index_select(0, rows),
            written=self.written.index_select(1, rows),
            slots=None if self.slots is None else self.slots.index_select(0, rows),
        )

    def with_room(self, count: int) -> CachedState:
        """A state whose memory takes another token of `count` hypotheses."""
        layers, rows, room, wide, width = self.written.shape
        if self.line and self.position < room and count <= wide:
            return self
        steps = self.position + (BLOCK if self.line else 1)
        grown = self.written.new_empty(layers, rows, steps, max(wide, count), width)
        grown[:, :, : self.position, :wide] = self.written[:, :, : self.position]
        return replace(self, written=grown)

    def step(self, decoder: Any, tokens: Tensor, memories: Mapping[str, Memory]) -> Step:
        return step(decoder, tokens, self, memories)


def start(decoder: Any, memories: Mapping[str, Memory], precision: str = "fp32") -> CachedState:
    """The state before the first token."""
    return meanwhile(lambda: _started(decoder, memories, precision))


def _started(decoder: Any, memories: Mapping[str, Memory], precision: str) -> CachedState:
    mask = torch.cat([memories[name].mask for name in decoder.names], 1)
    layers = weights_of(decoder) if mask.is_cuda else known_layers(decoder)
    kept = [
        torch.cat(
            [nn.functional.linear(memories[name].values, *product) for name, product in layer.memory.items()],
            1,
        )
        for layer in layers
    ]
    memory = torch.stack(kept)
    nothing = memory.new_empty(len(layers), len(mask), 0, 1, memory.shape[3])
    places = _places(decoder, PLACES, mask.device)
    return CachedState(memory, mask.contiguous(), nothing, None, places, precision=precision)


def _places(decoder: Any, count: int, device: torch.device) -> Tensor:
    places: Tensor = decoder.positions(torch.arange(count, device=device))
    return places.to(decoder.embedding.weight.dtype)


Advance = Callable[[Any, Tensor, CachedState, int], tuple[Tensor, Tensor]]
"""The logits (B, K, V) and the attention (B, K, S) of the last layer, from a decoder, the words' vectors at their
position (B K, D), which may be overwritten, the state, and K."""


def step(
    decoder: Any,
    tokens: Tensor,
    state: CachedState,
    memories: Mapping[str, Memory],
    advance: Advance | None = None,
) -> Step:
    """`TransformerDecoder.step` for a supported decoder.

    advance   what computes it; default: what computes on the device of the tokens
    """
    place = state.position
    if place >= len(state.places):
        state = replace(state, places=_places(decoder, 2 * len(state.places), tokens.device))
    state = state.with_room(tokens.shape[1])
    x = nn.functional.embedding(tokens.reshape(-1), decoder.embedding.weight) * decoder.scale
    x = (x if decoder.widen is None else decoder.widen(x)) + state.places[place]
    logits, looks = (advance or _advance_on(tokens.device))(decoder, x, state, tokens.shape[1])
    slots = state.slots
    if slots is not None:
        own = torch.arange(tokens.shape[1], device=tokens.device).expand(len(tokens), -1).unsqueeze(-1)
        slots = torch.cat([slots, own], 2)
    widths = [memories[name].mask.shape[1] for name in decoder.names]
    by_name = dict(zip(decoder.names, looks.split(widths, -1), strict=True))
    return Step(logits, replace(state, slots=slots, position=place + 1), by_name)


def _advance_on(device: torch.device) -> Advance:
    if device.type == "cuda":
        from regard.fast.cached_cuda import advance_on_cuda

        return advance_on_cuda
    return advance_on_cpu
