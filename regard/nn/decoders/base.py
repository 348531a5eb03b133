"""What decoders have in common: where their input comes from, and where they ought to look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor

from regard.errors import RegardError
from regard.nn.memory import Memory


class Source(Protocol):
    """Anything that knows the sizes of a memory; an encoder does."""

    @property
    def value_size(self) -> int: ...

    @property
    def summary_size(self) -> int: ...


Truth = Mapping[str, Tensor] | Tensor | None
"""The true alignment (B, T, S) by the name of the attended memory; a bare tensor where only one is attended."""


def truth_by_name(truth: Truth, attended: tuple[str, ...]) -> dict[str, Tensor]:
    if truth is None:
        return {}
    if isinstance(truth, Tensor):
        if len(attended) != 1:
            raise RegardError(
                f"A true alignment was given without a name, and the decoder attends to {len(attended)} memories.",
                fix="Give a mapping from the memory's name to its alignment.",
            )
        return {attended[0]: truth}
    return dict(truth)


def summaries(memories: Mapping[str, Memory], names: tuple[str, ...]) -> Tensor:
    """The summaries of several memories side by side, (B, Σ D)."""
    missing = [name for name in names if name not in memories]
    if missing:
        raise RegardError(
            f"The decoder needs the memories {', '.join(names)}; {', '.join(missing)} did not come."
        )
    return torch.cat([memories[name].summary for name in names], -1)
