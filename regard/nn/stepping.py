"""Stepping: how a search drives a decoder that writes token by token, and the recurrent decoder's state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from regard.nn.memory import Memory


class StepState(Protocol):
    """The state of a stepwise decoder for K hypotheses about each of B sources; opaque to the search."""

    def reorder(self, parents: Tensor) -> StepState:
        """Hypothesis k of the new state continues hypothesis parents[b, k] of this one; (B, K') int64."""

    def select(self, rows: Tensor) -> StepState:
        """The state of some of the sources, (B') int64, including all that was computed once per source."""


def in_a_line(state: StepState) -> StepState:
    """The state for a search that continues each state at most once. A state may have a method of this name; its
    steps then write into the state that they continue."""
    found: StepState = state.in_a_line() if hasattr(state, "in_a_line") else state
    return found


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
    missing  (B, K) and (B, K, V): the tokens that a constraint with banks still needs, before and after each choice;
             a beam keeps hypotheses apart by these numbers
    """

    logits: Tensor
    state: StepState
    looks: Mapping[str, Tensor]
    allowed: Tensor | None = None
    missing: tuple[Tensor, Tensor] | None = None
