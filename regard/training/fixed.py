"""Weights that no update changes, such as those of a frozen pretrained encoder: written once, beside the checkpoints.

They are written before the first checkpoint, which needs them, and never again; each checkpoint holds only the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor, nn

from regard.errors import RegardError
from regard.storage.manifest import FIXED_FILE
from regard.training import checkpoint

LEAST_BYTES = 1 << 20
"""Fewer fixed weights than this are part of each checkpoint."""


class FixedWeights:
    """The fixed weights of a network, and the file of them in the folder of a run."""

    def __init__(self, network: nn.Module, run: Path) -> None:
        held = network.state_dict().keys()
        found = {
            name: one
            for name, one in network.named_parameters()
            if not one.requires_grad and name in held  # the first name of tied weights
        }
        size = sum(one.numel() * one.element_size() for one in found.values())
        self.tensors: dict[str, Tensor] = dict(found) if size >= LEAST_BYTES else {}
        self.written = False
        self.move(run)

    def move(self, run: Path) -> None:
        """Continue in another folder, to which the file has been moved."""
        self.path = run / FIXED_FILE

    def others(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The tensors without the fixed ones."""
        return {name: tensor for name, tensor in tensors.items() if name not in self.tensors}

    def write(self) -> None:
        """Write the file, if it is not written yet."""
        if self.tensors and not self.written:
            checkpoint.write(self.path, self.tensors, {})
            self.written = True

    def joined(self, others: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The weights of a checkpoint together with the fixed ones, which older checkpoints hold themselves."""
        if not set(self.tensors) - set(others):
            return dict(others)
        if not self.path.is_file():
            raise RegardError(
                "the weights that are not trained are missing.",
                where=str(self.path),
                fix="Copy the run again with all its files, or start a new one in another folder.",
            )
        found, _ = checkpoint.read(self.path)
        self.written = True
        return {**found, **others}
