"""The memory of a Neural Turing Machine (Graves, Wayne and Danihelka 2014).

A head moves in four steps from its previous weights w to its new ones, over a circle of slots ℓ:

    v_ℓ = softmax_ℓ(β cos(κ, m_ℓ))                       by content
    q = g v + (1 − g) w                                  or from the previous position
    w̃_ℓ = ς₋₁ q_{ℓ+1} + ς₀ q_ℓ + ς₁ q_{ℓ−1}               one slot back, none, or one forward
    w_ℓ = w̃_ℓ^γ / Σ w̃^γ                                  sharpened

Write heads go first: all of them erase, m_ℓ ⊙ Π_k (1 − w_kℓ e_k), then all of them add, + Σ_k w_kℓ a_k. Read
heads address the result: r_k = Σ_ℓ w_kℓ m_ℓ. Graves leaves the order open; the DNC uses this one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import softplus

from regard.nn.letters import Letters
from regard.nn.path import faster
from regard.nn.products import weighted_sums
from regard.nn.stores.content import WRITTEN_EPSILON, content_line, content_weights
from regard.nn.stores.store import Bias, Store, StoreStep, interface_letters, number, vector
from regard.parts import Depth, Size, register

EMPTY = 1e-6
"""Every number of an empty slot: a model learns sooner from a small constant than from random numbers
(Collier and Beel 2018)."""

TAPE: dict[str, Bias] = {"ga": -2.0, "ςa": (0.0, 0.0, 2.0)}
"""Initial biases of a write head that ignores content and moves forward."""


class NTMState(NamedTuple):
    """slots (B, N, W); the previous weights of the heads: write (B, K, N), read (B, K, N)."""

    slots: Tensor
    write: Tensor
    read: Tensor


@register("store", "ntm")
class NTMStore(Store):
    """The memory of a Neural Turing Machine (Graves, Wayne and Danihelka 2014): heads address slots by content, and
    move around a circle of them. All heads start at the first slot."""

    class Options(Store.Options):
        """The memory of a Neural Turing Machine: slots addressed by content and by location."""

        slots: Size = 128
        """Number of slots, which form a circle; the parameters do not depend on it."""
        heads: Depth = 1
        """Number of read heads, and of write heads."""
        tape: bool = False
        """Start with write heads that move from slot to slot, as on a tape. Heads that start otherwise may
        write two things to one slot and never unlearn it."""
        focus: float = 0.0
        """Added to the initial bias b_γr, which makes read heads sharper. A head that is spread over several
        slots loses its place in a longer input; a sharp one takes longer to learn to find things."""

    def __init__(
        self,
        size: int,
        *,
        slots: int = 128,
        width: int = 20,
        heads: int = 1,
        tape: bool = False,
        focus: float = 0.0,
    ) -> None:
        groups = (
            {"κa": width, "κr": width, "aa": width},
            {"ga": 1, "gr": 1, "ea": width},
            {"βa": 1, "βr": 1, "γa": 1, "γr": 1},
            {"ςa": 3, "ςr": 3},
        )
        self._groups = [heads * sum(group.values()) for group in groups]
        pieces = {name: heads * count for group in groups for name, count in group.items()}
        super().__init__(size, width, heads, pieces)
        self.begin_with({"γr": focus} | (TAPE if tape else {}))
        self.slots = slots

    @classmethod
    def equations(cls, options: Any, j: str, state: str, length: str) -> list[str]:
        before = f"m_{{{j}−1,ℓ}}"
        return [
            f"ℓ = 1 … N, k = 1 … K     — {options.slots} slots of {options.width} numbers; write and read heads: "
            f"{options.heads} each",
            *_moves("a", j, state, before),
            f"e_{j}k = σ({vector('e', 'ka', state)})     — the erase vector",
            f"a_{j}k = tanh({vector('a', 'ka', state)})     — the add vector",
            f"z_{j}0ℓ = {before}",
            f"z_{j}kℓ = z_{{{j},k−1,ℓ}} ⊙ (1 − w_{j}kaℓ e_{j}k)",
            f"m_{j}ℓ = z_{j}Kℓ + Σ_k w_{j}kaℓ a_{j}k",
            *_moves("r", j, state, f"m_{j}ℓ"),
            f"r_{j}k = Σ_ℓ w_{j}krℓ m_{j}ℓ",
            f"m_0ℓ = 0_W + {EMPTY:f}",
            "w_0kaℓ = [ℓ = 1]",
            "w_0krℓ = [ℓ = 1]",
            f"ε = {WRITTEN_EPSILON}",
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        pieces = ["κka", "βka", "gka", "ςka", "γka", "eka", "aka", "κkr", "βkr", "gkr", "ςkr", "γkr"]
        return {**super().letters(options), **interface_letters(*pieces)}

    def start(self, rows: int) -> NTMState:
        like = self.first_read
        slots = like.new_full((rows, self.slots, self.width), EMPTY)
        first = like.new_zeros(rows, self.heads, self.slots)
        first[..., 0] = 1.0
        return NTMState(slots, first, first)

    def step(self, controller: Tensor, state: NTMState) -> StoreStep:
        said = self.interface(controller)
        found: tuple[Tensor, Tensor, Tensor, Tensor] | None = faster(
            "ntm.step", said.device, self, said, state
        )
        slots, write, read, reads = self._plain(said, state) if found is None else found
        return StoreStep(reads.flatten(1), NTMState(slots, write, read), {"write": write, "read": read})

    def _plain(self, said: Tensor, state: NTMState) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The slots, weights and reads after a step, from the interface and the state before it."""
        keys, gates, powers, shifts, erase, add = self._bent(said)
        heads = self.heads
        content = content_weights(keys[:, :heads], powers[:, :heads], state.slots)
        gated = interpolated(content, state.write, gates[:, :heads])
        write = sharpened(shifted(gated, shifts[:, :heads]), 1.0 + powers[:, 2 * heads : 3 * heads])
        slots = written(state.slots, write, erase, add)
        content = content_weights(keys[:, heads:], powers[:, heads : 2 * heads], slots)
        gated = interpolated(content, state.read, gates[:, heads:])
        read = sharpened(shifted(gated, shifts[:, heads:]), 1.0 + powers[:, 3 * heads :])
        return slots, write, read, weighted_sums(read, slots)

    def _bent(self, said: Tensor) -> tuple[Tensor, ...]:
        """keys (B, 2K, W), gates (B, 2K), strengths and powers (B, 4K), shifts (B, 2K, 3), the write heads
        first; erase and add (B, K, W). Each activation is applied to all its inputs at once, because calls
        dominate the time of small batches."""
        heads, width = self.heads, self.width
        bounded, gated, positive, shifts = said.split(self._groups, -1)
        keys, add = torch.tanh(bounded).unflatten(-1, (3 * heads, width)).split((2 * heads, heads), 1)
        gates, erase = torch.sigmoid(gated).split((2 * heads, heads * width), -1)
        shifts = shifts.unflatten(-1, (2 * heads, 3)).softmax(-1)
        return keys, gates, softplus(positive), shifts, erase.unflatten(-1, (heads, width)), add


def _moves(mark: str, j: str, state: str, slot: str) -> list[str]:
    """Equations of the four steps of the heads that write (mark a) or read (mark r)."""
    at, head = f"{j}k{mark}", f"k{mark}"
    return [
        f"κ_{at} = tanh({vector('κ', head, state)})",
        f"β_{at} = log(1 + exp({number('β', head, state)}))",
        f"g_{at} = σ({number('g', head, state)})",
        f"ς_{at} = softmax({vector('ς', head, state)})",
        f"γ_{at} = 1 + log(1 + exp({number('γ', head, state)}))",
        content_line(f"v_{at}", f"κ_{at}", f"β_{at}", slot, "ℓ"),
        f"q_{at}ℓ = g_{at} v_{at}ℓ + (1 − g_{at}) w_{{{j}−1,k,{mark},ℓ}}     — interpolated with the previous weights",
        f"q_{at}0 = q_{at}N     — the slots form a circle",
        f"q_{{{j},k,{mark},N+1}} = q_{at}1",
        f"u_{at}ℓ = ς_{at}[1] q_{{{j},k,{mark},ℓ+1}} + ς_{at}[2] q_{at}ℓ + ς_{at}[3] q_{{{j},k,{mark},ℓ−1}}",
        f"w_{at} = softmax_ℓ(γ_{at} log(u_{at}ℓ))     — u to the power of γ, normalized",
    ]


def interpolated(content: Tensor, before: Tensor, gate: Tensor) -> Tensor:
    """g v + (1 − g) w: weights (B, K, N), gates (B, K)."""
    return torch.lerp(before, content, gate.unsqueeze(-1))


def shifted(weights: Tensor, shifts: Tensor) -> Tensor:
    """Σ_d ς_d w_{ℓ−d} on the circle: weights (B, K, N), shifts (B, K, 3) of −1, 0 and 1."""
    back, stay, on = shifts.unsqueeze(-2).unbind(-1)  # (B, K, 1) each
    return back * weights.roll(-1, -1) + stay * weights + on * weights.roll(1, -1)


def sharpened(weights: Tensor, power: Tensor) -> Tensor:
    """w^γ / Σ w^γ; weights (B, K, N), powers (B, K). Computed with logarithms, because powers of small
    weights would underflow, and with them the sum."""
    tiny = torch.finfo(weights.dtype).tiny
    return (power.unsqueeze(-1) * weights.clamp(min=tiny).log()).softmax(-1)


def written(slots: Tensor, weights: Tensor, erase: Tensor, add: Tensor) -> Tensor:
    """m_ℓ ⊙ Π_k (1 − w_kℓ e_k) + Σ_k w_kℓ a_k: slots (B, N, W), weights (B, K, N), erase and add (B, K, W)."""
    for head in range(weights.shape[1]):
        erased = weights[:, head].unsqueeze(-1) * erase[:, head].unsqueeze(-2)
        slots = torch.addcmul(slots, slots, erased, value=-1)
    for head in range(weights.shape[1]):
        slots = torch.addcmul(slots, weights[:, head].unsqueeze(-1), add[:, head].unsqueeze(-2))
    return slots
