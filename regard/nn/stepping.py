"""Stepping: what a search asks of a decoder that writes one token after another, and the recurrent decoder's state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from regard.nn.memory import Memory


class StepState(Protocol):
    """What a stepwise decoder keeps of K hypotheses for each of B sources; only the decoder looks inside."""

    def reorder(self, parents: Tensor) -> StepState:
        """Hypothesis k of the new state continues hypothesis parents[b, k] of this one; (B, K') int64."""

    def select(self, rows: Tensor) -> StepState:
        """The state of some of the sources, (B') int64; whatever was computed once per source included."""


@runtime_checkable
class Stepwise(Protocol):
    """A decoder that writes one token after another: all that a search knows of it.

    start   the state before the first token, of one hypothesis for each source
    step    the previous tokens (B, K) of K hypotheses → logits (B, K, V) of the next ones. Tokens are `begin` or ids
            below V. Those of a hypothesis that cannot go on are arbitrary, and what the step answers is not used.

    V need not be the size of a vocabulary, and the choices may differ from row to row (positions of the input, words to
    copy): the logit of a choice that does not exist is −inf. A step may overwrite nothing of the state it is given; the
    search may overwrite the logits.

    Four attributes are optional, for decoders whose choices are not a text column's vocabulary:

    begin       the token before the first, default BEGIN
    end         the choice that ends an output, default END
    forbidden   choices that are never written, default PAD and BEGIN
    longest     (B) tokens after which an output ends where the search sets no limit, of the sources' lengths (B);
                default twice the length and twenty more
    """

    def start(self, memories: Mapping[str, Memory], *, truth: Any = None) -> StepState: ...

    def step(self, tokens: Tensor, state: Any, memories: Mapping[str, Memory]) -> Step: ...


@dataclass(frozen=True)
class Step:
    """One step of K hypotheses.

    logits   (B, K, V) log-probabilities of the next token, not normalized
    state    after the step
    looks    (B, K, S) where it looked, by the memory's name
    allowed  (B, K, V) the choices with which an output can become what it must be; None: all of them. As limits do, it
             leaves choices out of a search and their probabilities as they are
    """

    logits: Tensor
    state: StepState
    looks: Mapping[str, Tensor]
    allowed: Tensor | None = None


@dataclass(frozen=True)
class AtOutput:
    """What a summary does where words are chosen, once for each row.

    gates   (B, 1, H) what of the state is said
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
        """For outputs (N, …) of which the rows (N) are known."""
        gates, share = (None if one is None else one[rows, 0] for one in (self.gates, self.share))
        return AtOutput(gates, share)


@dataclass(frozen=True)
class Constants:
    """What a decoder computes once per source: it belongs to the row, not to a hypothesis.

    keys       by attended memory, (B, S, A)
    projected  (B, 1, G) the summary's share of the gates, where it is an input at every step
    truth      by attended memory, (B, T, S), where the true alignment is given
    prepared   what a fast path has laid out for itself
    drawing    (B) the rows that draw where they look, in training
    places     (B, S) the choice that the word at each position of the source is, of a decoder that copies
    at_output  where the summary has a say in the choice of words
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
    feed       (B, K, O) the last attentional vector, where it is fed back
    position   how many words have been read
    looks      (B, K, S) where the steps before looked, of the memories whose score remembers it, as it does
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
