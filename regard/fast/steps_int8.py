"""Steps of a Transformer decoder in int8, for searches that ask for it."""

from __future__ import annotations

from typing import Any, cast

import torch

from regard.fast.allowed import CONSTRAINED
from regard.fast.cached import CachedState, start
from regard.fast.paths.cached_step import lacks
from regard.fast.whole_search import STEPPERS
from regard.nn.decoders.transformer import TransformerDecoder
from regard.nn.search.constrained import Constrained
from regard.nn.search.stepper import Stepper


class InBytes(Stepper):
    """The steps of a Transformer decoder, with weights as bytes."""

    def start(self) -> CachedState:
        return start(self.decoder, self.memories, "int8")


def of_transformer(stepper: Stepper) -> bool:
    """Whether these are the steps of one Transformer decoder, with a constraint or without."""
    return isinstance(getattr(_inner(stepper), "decoder", None), TransformerDecoder)


def steps_lack(stepper: Stepper) -> str:
    """Why the steps of a Transformer decoder cannot be computed in int8; empty if they can."""
    inner = _inner(stepper)
    if not STEPPERS(inner):
        return "The steps of the decoder were changed."
    decoder: Any = inner.decoder
    if decoder.output.weight.dtype != torch.float32:
        return "The weights are not in single precision."
    return lacks(decoder, inner.memories)


def in_bytes(stepper: Stepper) -> Stepper:
    """The same steps in int8."""
    if CONSTRAINED.kind(stepper) is None:
        return InBytes(stepper.decoder, stepper.memories, truth=stepper.truth)
    bound = cast(Constrained, stepper)
    return Constrained(in_bytes(bound.inner), bound.table, bound.last, bound.copies, bound.needed)


def _inner(stepper: Stepper) -> Stepper:
    return stepper.inner if isinstance(stepper, Constrained) else stepper
