"""Loss: the loss of a decoder on a batch, as a sum and the number of items."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from regard.private import tensor_node


@tensor_node()
@dataclass(frozen=True)
class Loss:
    """The mean loss is total / count; both are kept so that batches and processes can be added up exactly.

    total    () the sum to minimize, over the items of the batch
    count    () the number of items: target tokens, labels, or tagged positions
    parts    named parts of the total, detached, for the log: `likelihood` is −log p of the truth without
             smoothing (its mean is the logarithm of the perplexity), `guide` the guided-attention loss
    weight   weight of this output relative to the model's other outputs
    """

    total: Tensor
    count: Tensor
    parts: dict[str, Tensor] = field(default_factory=dict)
    weight: float = 1.0

    @property
    def mean(self) -> Tensor:
        return self.total / self.count.clamp(min=1)
