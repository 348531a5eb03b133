"""A store: an external memory that a controller writes to and reads from, one step at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor, nn

from regard import parts
from regard.nn.letters import Letters
from regard.parts import Depth, Size, one_of
from regard.parts.contract import base, optional, required
from regard.private import tensor_node

AnyStore = Annotated[Any, one_of("store")]
"""An option that chooses a store: `store: ntm`, `store: {type: ntm, slots: 128, width: 20}`."""

Bias = float | tuple[float, ...]
"""A bias for all numbers of a piece, or one for each number of a head."""


@tensor_node()
@dataclass(frozen=True)
class StoreStep:
    """The result of a step.

    reads   (B, K · width) the vectors that the K heads read, concatenated
    state   the state of the store for the next step
    looks   what a trace records, by name: `write` (B, K', N) and `read` (B, K, N), the weights over the
            slots; for some stores `link` (B, N, N), `write_path` (B, 1, 2) and `read_path` (B, K, 2)
    """

    reads: Tensor
    state: Any
    looks: dict[str, Tensor] = field(default_factory=dict)


@base("store", gives=("size",), spread=True, maker="build")
class Store(nn.Module):
    """A controller's state (B, size) and the store's own state → a StoreStep.

    The controller's output to the store (keys, gates, what to write) is one affine map of its state, the
    *interface*. `pieces` names the parts of the interface in their order, with the size of each. To add a
    store, derive from this class, pass `pieces` to the constructor, and write `start`, `step` and
    `equations`. A call leaves no state on the module.
    """

    class Options(parts.Options):
        """Options shared by all stores."""

        width: Size = 20
        """Size of a slot."""
        heads: Depth = 1
        """Number of read heads."""

    begin: ClassVar[Mapping[str, Bias]] = {}
    """Values added to the initial biases of some pieces, so that gates are open or closed before training."""

    def __init__(self, size: int, width: int, heads: int, pieces: dict[str, int]) -> None:
        super().__init__()
        self.size, self.width, self.heads, self.pieces = size, width, heads, dict(pieces)
        self.interface = nn.Linear(size, sum(pieces.values()))
        self.begin_with(self.begin)
        self.first_read = nn.Parameter(torch.zeros(heads, width))

    @torch.no_grad()
    def begin_with(self, biases: Mapping[str, Bias]) -> None:
        """Add to the biases of some pieces, the same for all heads."""
        split = self.interface.bias.split(list(self.pieces.values()))
        for name, bias in zip(self.pieces, split, strict=True):
            more = bias.new_tensor(biases.get(name, 0.0))
            bias.view(-1, max(1, more.numel())).add_(more)

    @classmethod
    def build(cls, options: Any, size: int) -> Store:
        """The store with its options, for a controller of this size."""
        return cls(size, **dict(options))

    @property
    def read_size(self) -> int:
        return self.heads * self.width

    @classmethod
    @required("by `regard describe`")
    def equations(cls, options: Any, j: str, state: str, length: str) -> list[str]:
        """Equations of r_jk, the vector that head k reads at step j, from the controller's state.

        j, state, length   symbols of the step, the state at that step, and the number of steps: j, s_j, S
        """
        raise NotImplementedError

    @classmethod
    @optional("to draw the network")
    def letters(cls, options: Any) -> Letters:
        """The letter of each parameter in these equations (`regard.nn.letters`)."""
        return {"first_read": "r_{0,k}"}

    @optional("once for each batch, before the first step")
    def first_reads(self, rows: int) -> Tensor:
        """(B, K · width) the learned reads before anything is written."""
        return self.first_read.flatten().expand(rows, -1)

    @required("once for each batch")
    def start(self, rows: int) -> Any:
        """The state before the first step."""
        raise NotImplementedError

    @required("at every step of the controller")
    def step(self, controller: Tensor, state: Any) -> StoreStep:
        """(B, size) and the state of the store → its reads (B, K · width), its new state, its looks."""
        raise NotImplementedError

    def said(self, controller: Tensor) -> dict[str, Tensor]:
        """The interface, (B, size) by the name of the piece."""
        parts = self.interface(controller).split(list(self.pieces.values()), -1)
        return dict(zip(self.pieces, parts, strict=True))


def vector(piece: str, mark: str, state: str) -> str:
    """`W_κa s_j + b_κa`: the equation of a piece of the interface."""
    return f"W_{piece}{mark} {state} + b_{piece}{mark}"


def number(piece: str, mark: str, state: str) -> str:
    """`ω_βa·s_j + b_βa`: the same for a piece that is a single number."""
    return f"ω_{piece}{mark}·{state} + b_{piece}{mark}"


def interface_letters(*pieces: str) -> Letters:
    """The letters of the interface; a piece such as κka is a vector or a number."""
    weights = frozenset(f"{letter}_{piece}" for letter in "Wω" for piece in pieces)
    return {"interface.weight": weights, "interface.bias": frozenset(f"b_{piece}" for piece in pieces)}
