"""Stepping: how a search drives a decoder that writes token by token, and the recurrent decoder's state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from regard.nn.memory import Memory


class StepState(Protocol):
    """The state of a stepwise decoder for K hypotheses about each of B sources; opaque to the search."""

    def reorder(self, parents: Tensor) -> StepState:
        """Hypothesis k of the new state continues hypothesis parents[b, k] of this one; (B, K') int64."""

    def select(self, rows: Tensor) -> StepState:
        """The state of some of the sources, (B') int64, including all that was computed once per source."""


@runtime_checkable
class Stepwise(Protocol):
    """The interface of a decoder that writes one token after another, as a search sees it.

    start   the state before the first token, of one hypothesis for each source
    step    the previous tokens (B, K) of K hypotheses → logits (B, K, V) of the next ones. Tokens are `begin`
            or ids below V. The tokens of a hypothesis that cannot continue are arbitrary, and its logits are
            not used.

    V need not be the size of a vocabulary, and the choices may differ from row to row (positions of the
    input, words to copy). The logit of a choice that does not exist is −inf. A step must not modify the state
    it receives. The search may overwrite the logits.

    Four attributes are optional, for decoders whose choices are not a text column's vocabulary:

    begin       the token before the first, default BEGIN
    end         the choice that ends an output, default END
    forbidden   choices that are never written, default PAD and BEGIN
    longest     a method: lengths of the sources (B) → maximal lengths of the outputs (B), used if the search
                sets no limit; default: twice the length plus twenty
    """

    def start(self, memories: Mapping[str, Memory], *, truth: Any = None) -> StepState: ...

    def step(self, tokens: Tensor, state: Any, memories: Mapping[str, Memory]) -> Step: ...


@dataclass(frozen=True)
class Step:
    """One step of K hypotheses.

    logits   (B, K, V) unnormalized log-probabilities of the next token
    state    the state after the step
    looks    (B, K, S) attention weights, by the memory's name
    allowed  (B, K, V) the choices that can still lead to a valid output; None: all. Like limits, it excludes
             choices from the search and leaves their probabilities as they are
    """

    logits: Tensor
    state: StepState
    looks: Mapping[str, Tensor]
    allowed: Tensor | None = None


@dataclass(frozen=True)
class AtOutput:
    """How a summary conditions the output layer, computed once for each row.

    gates   (B, 1, H) gates of the state
    share   (B, 1, O) the summary's share of the readout
    """

    gates: Tensor | None
    share: Tensor | None

    def select(self, rows: Tensor) -> AtOutput:
        gates, share = (
            None if one is None else one.index_select(0, rows) for one in (self.gates, self.share)
        )
        return AtOutput(gates, share)

    def packed(self, rows: Tensor) -> AtOutput:
        """For packed outputs (N, …), given the row (N) of each."""
        gates, share = (None if one is None else one[rows, 0] for one in (self.gates, self.share))
        return AtOutput(gates, share)


@dataclass(frozen=True)
class Constants:
    """Tensors that a decoder computes once per source and all hypotheses share.

    keys       by attended memory, (B, S, A)
    projected  (B, 1, G) the summary's share of the gates, if it is an input at every step
    truth      by attended memory, (B, T, S), if the true alignment is given
    prepared   what a path has prepared for its steps: an object with `step(decoder, tokens, state)`
               and `select(rows)`
    drawing    (B) the rows that sample their attention, in training
    places     (B, S) the choice for the word at each position of the source, if the decoder copies
    at_output  how the summary conditions the output layer, if it does
    """

    keys: Mapping[str, Tensor]
    projected: Tensor | None = None
    truth: Mapping[str, Tensor] | None = None
    prepared: Any = None
    drawing: Tensor | None = None
    places: Tensor | None = None
    at_output: AtOutput | None = None

    def select(self, rows: Tensor) -> Constants:
        def pick(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
            return {name: tensor.index_select(0, rows) for name, tensor in tensors.items()}

        return Constants(
            pick(self.keys),
            None if self.projected is None else self.projected.index_select(0, rows),
            None if self.truth is None else pick(self.truth),
            None if self.prepared is None else self.prepared.select(rows),
            None if self.drawing is None else self.drawing.index_select(0, rows),
            None if self.places is None else self.places.index_select(0, rows),
            None if self.at_output is None else self.at_output.select(rows),
        )


@dataclass(frozen=True)
class State:
    """K hypotheses about each of B sources.

    layers     one (B, K, state) for each layer
    feed       (B, K, O) the last attentional vector, if it is fed back
    position   number of words read
    looks      (B, K, S) the attention history of each memory whose score uses it, in the form that the score
               keeps
    """

    layers: tuple[Tensor, ...]
    feed: Tensor | None
    constants: Constants
    position: int = 0
    looks: Mapping[str, Tensor] = field(default_factory=dict)

    def reorder(self, parents: Tensor) -> State:
        """Hypothesis k of the new state continues hypothesis parents[b, k] of this one; (B, K') int64."""
        hypotheses = self.layers[0].shape[1]
        rows = torch.arange(len(parents), device=parents.device)[:, None] * hypotheses + parents

        def follow(tensor: Tensor) -> Tensor:
            flat = tensor.reshape(-1, tensor.shape[-1])
            return flat.index_select(0, rows.reshape(-1)).view(*parents.shape, -1)

        return replace(
            self,
            layers=tuple(follow(layer) for layer in self.layers),
            feed=None if self.feed is None else follow(self.feed),
            looks={name: follow(weights) for name, weights in self.looks.items()},
        )

    def select(self, rows: Tensor) -> State:
        """The state of some of the sources, (B') int64."""
        return replace(
            self,
            layers=tuple(layer.index_select(0, rows) for layer in self.layers),
            feed=None if self.feed is None else self.feed.index_select(0, rows),
            looks={name: weights.index_select(0, rows) for name, weights in self.looks.items()},
            constants=self.constants.select(rows),
        )
